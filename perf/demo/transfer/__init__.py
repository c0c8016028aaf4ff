"""`make demo-net`: a real file over one connection that is striped over two rails, as a table and a picture."""
