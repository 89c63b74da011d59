"""Delivery that learns: what ordinary visits tell of a page, and the order of bytes that follows from it. Pure.

`visit` is a visit as its server saw it, `recorder` takes it down, `beacon` is what a visitor's browser says of it; `memory`
keeps what many of them say of a page; `learned` makes the page model of that;
`proposals` are orders worth simulating; `plan` is an order that places requests; `guard` decides which is used, and leaves one
that does visitors no good; `networks` are the classes of networks that visitors come by.
"""
