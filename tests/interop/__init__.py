"""Other people's HTTP/3 clients against our server: `make interop`, which writes docs/interop.md."""
