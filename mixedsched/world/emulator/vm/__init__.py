"""The kernel's tbf and netem in a router inside a virtual machine."""
