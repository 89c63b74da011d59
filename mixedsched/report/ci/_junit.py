"""JUnit's XML, as continuous integration reads it: a test case for each question."""

import xml.etree.ElementTree as ET

from mixedsched.lab.gates import GateVerdict
from mixedsched.report.ci._questions import CheckedQuestions, Question
from mixedsched.units import counted, printable


def junit_xml(checked: CheckedQuestions) -> str:
    """A document of one suite. What has failed is a failure, what is undecided was skipped.

    Source: the schema that Jenkins publishes (junit-10.xsd), of which others read subsets.
    """
    outcomes = [item.outcome for item in checked.questions]
    counts = {
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count(GateVerdict.FAILED)),
        "errors": "0",
        "skipped": str(outcomes.count(GateVerdict.UNDECIDED)),
        "time": f"{checked.cost_s:.3f}",
    }
    document = ET.Element("testsuites", {"name": "mixedsched", **counts})
    suite = ET.SubElement(document, "testsuite", {"name": printable(checked.title), **counts})
    for item in checked.questions:
        _add_case(suite, checked, item)
    ET.SubElement(suite, "system-out").text = printable(" ".join(filter(None, [checked.stopping, checked.report])))
    ET.indent(document)
    return ET.tostring(document, encoding="unicode", xml_declaration=False) + "\n"


def _add_case(suite: ET.Element, checked: CheckedQuestions, item: Question) -> None:
    name = printable(f"{item.name}: {item.subject}")
    case = ET.SubElement(suite, "testcase", {"name": name, "classname": printable(checked.title), "time": "0"})
    said = printable(f"{item.verdict}: {item.answer}; {counted(item.blocks, 'block')}")
    match item.outcome:
        case GateVerdict.FAILED:
            ET.SubElement(
                case, "failure", {"message": said, "type": "gate"}
            ).text = f"{said}. Report: {printable(checked.report)}"
        case GateVerdict.UNDECIDED:
            ET.SubElement(case, "skipped", {"message": said})
        case GateVerdict.MET:
            ET.SubElement(case, "system-out").text = said
