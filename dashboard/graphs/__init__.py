"""The structure of model graphs, as shown in the Graph panel; independent of Dash."""
