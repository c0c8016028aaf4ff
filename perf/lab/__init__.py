"""The lab: hosts are network namespaces, NICs are veth pairs with tbf.
Standard library only; one mechanism per file."""
