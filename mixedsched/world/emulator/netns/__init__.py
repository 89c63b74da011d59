"""The kernel's own tbf and netem between network namespaces."""
