"""Signs for kinds of responses, which pictures and their legends share."""

from collections.abc import Mapping

from mixedsched.model.request import Kind

KIND_LETTERS: Mapping[Kind, str] = {
    Kind.DOCUMENT: "D",
    Kind.STYLESHEET: "C",
    Kind.FONT: "F",
    Kind.SCRIPT: "S",
    Kind.IMAGE: "I",
    Kind.MEDIA: "M",
    Kind.XHR: "X",
    Kind.OTHER: "O",
}
