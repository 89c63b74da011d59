"""The little program that asks for what no tag can: scripts call it, and it keeps the order of the manifest.

It is short, because it must fit into the bytes that a document or a script has. Its parts, as JavaScript:

$(items, work)   items that a script asks for: after `work` ms of busy main thread, each of them after its own delay
O({name: items}) the same once the resource of that name (host and path) is complete, whatever it is
D(items)         the same once the document is parsed
W.x(url, place)  one way to ask (`Way.call`)

An item is [ticket, delay in ms, way, url, wait in tenths of a second, place]. Tickets of a document count from 0 in the order
of the manifest. A request waits for those with a lower ticket, but no longer than `wait` and a second: so the order holds where
times are as in the manifest, and a slow network holds up nothing for long.
"""

import html
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mixedsched.sites.synth._ways import IMAGE_FOR_SCANNER

_SLACK_MS = 1000
_QUEUE = (
    "q=[];N=0;I=t=>{let f=q[t];q[t]=0;f&&f()};R=()=>{for(;N in q;N++)I(N)};"
    "$=(a,b)=>{for(let s=performance.now();performance.now()-s<b;);"
    "a.map(([t,d,k,u,w=0,p])=>setTimeout(()=>{q[t]=()=>W[k](u,p);R();"
    f"setTimeout(()=>{{I(t);R()}},w*100+{_SLACK_MS})}},d))}};"
)
_APPEND = "A=(t,a)=>(document.body||document.documentElement).append(Object.assign(document.createElement(t),a));"
_ON_COMPLETE = (
    "O=m=>new PerformanceObserver(l=>l.getEntries().map(e=>{let u=new URL(e.name),k=u.hostname+u.pathname+u.search,"
    "p=m[k];m[k]=0;p&&$(p)})).observe({type:'resource',buffered:true});"
)
_ON_PARSED = "D=a=>document.readyState=='loading'?addEventListener('DOMContentLoaded',()=>$(a)):$(a);"
_IMAGE = "u,p)=>A('img',{className:p?'a':'',style:p||'',fetchPriority:"
_FRAMED = "u=>A('iframe',{srcdoc:'<script>$=parent.$<\\/script>" + IMAGE_FOR_SCANNER + "'+"
_PRELOAD = "u=>A('link',{rel:'preload',as:"
_WAYS: Mapping[str, str] = {
    "d": "u=>A('iframe',{src:u})",
    "p": "u=>A('script',{type:'speculationrules',text:JSON.stringify({prefetch:[{urls:[u],eagerness:'immediate'}]})})",
    "l": "u=>A('link',{rel:'stylesheet',href:u})",
    "k": "u=>A('link',{rel:'stylesheet',fetchPriority:'low',href:u})",
    "m": "u=>A('link',{rel:'stylesheet',media:'print',href:u})",
    "s": "u=>A('script',{src:u})",
    "h": "u=>A('script',{fetchPriority:'high',src:u})",
    "n": "u=>{let f=new FontFace('F','url(\"'+u+'\")');document.fonts.add(f);f.load().catch(e=>0)}",
    "N": _PRELOAD + "'font',crossOrigin:'',href:u})",
    "o": _PRELOAD + "'font',crossOrigin:'',fetchPriority:'low',href:u})",
    "g": "(" + _IMAGE + "'low',src:u})",
    "G": "(" + _IMAGE + "'high',src:u})",
    "z": "u=>A('iframe',{srcdoc:'<img src=\"'+u+'\">'})",
    "Y": _FRAMED + "'<link rel=stylesheet href=\"'+u+'\">'})",
    "Z": _FRAMED + "'<script src=\"'+u+'\"><\\/script>'})",
    "f": "u=>fetch(u).catch(e=>0)",
    "F": "u=>fetch(u,{priority:'low'}).catch(e=>0)",
    "y": "u=>{let x=new XMLHttpRequest;x.open('GET',u,!1);try{x.send()}catch(e){}}",
    "b": "u=>A('link',{rel:'prefetch',href:u})",
    "v": "u=>A('video',{preload:'auto',src:u})",
    "a": "u=>A('audio',{preload:'auto',src:u})",
    "e": _PRELOAD + "'fetch',crossOrigin:'',href:u})",
    "E": _PRELOAD + "'fetch',crossOrigin:'',fetchPriority:'low',href:u})",
    "w": "u=>document.head.append(Object.assign(document.createElement('link'),{rel:'manifest',href:u}))",
}


_IN_MARKUP = frozenset("zYZ")  # they put the address into the markup of a frame, where `&copy` would be a sign


@dataclass(frozen=True, slots=True)
class Item:
    """A request that the runtime makes. wait_ms: how long it may be held back for those before it. place: CSS of an image."""

    ticket: int
    delay_ms: float
    call: str
    url: str
    wait_ms: float = 0.0
    place: str = ""

    def to_json(self) -> list[Any]:
        wait = -(-self.wait_ms // 100)
        tail: list[Any] = [int(wait), self.place] if self.place else [int(wait)] if wait else []
        url = html.escape(self.url) if self.call in _IN_MARKUP else self.url
        return [self.ticket, round(self.delay_ms), self.call, url, *tail]


def runtime(calls: Iterable[str], *, has_table: bool, has_parsed: bool) -> str:
    """The program with just the parts that a document needs. calls: the ways used, in any order."""
    used = sorted(set(calls))
    ways = ",".join(f"{name}:{_WAYS[name]}" for name in used)
    append = _APPEND if any("A(" in _WAYS[name] for name in used) else ""
    return _QUEUE + append + f"W={{{ways}}};" + (_ON_COMPLETE if has_table else "") + (_ON_PARSED if has_parsed else "")


def items_call(items: Iterable[Item], work_ms: float = 0.0) -> str:
    """`$(...)`: what a script contains that asks for these."""
    work = f",{round(work_ms)}" if work_ms >= 1 else ""
    return f"$({_compact([item.to_json() for item in items])}{work});"


def parsed_call(items: Iterable[Item]) -> str:
    """`D(...)`: what asks for them once the document is parsed."""
    return f"D({_compact([item.to_json() for item in items])});"


def table_call(table: Mapping[str, Iterable[Item]]) -> str:
    """`O(...)`: what asks for them once the resources that the keys name are complete."""
    return f"O({_compact({name: [item.to_json() for item in items] for name, items in table.items()})});"


def _compact(value: Any) -> str:
    """JSON that may stand in a script element: nothing in it ends the element, or begins a comment."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
