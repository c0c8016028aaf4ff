"""The lab: hosts are network namespaces, NICs are veth pairs with tbf. Uses the standard library only. Each file has
one mechanism."""
