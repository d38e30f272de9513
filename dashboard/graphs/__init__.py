"""Structure of model graphs: what the Graph panel shows, without Dash."""
