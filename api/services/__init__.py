"""One service a noun; every face calls only these."""
