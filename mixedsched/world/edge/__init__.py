"""The edge: HTTP/3 with the project's schedulers in front of any web server."""
