"""What a prompt is given of what was recalled: which fits, and the forms it is written in. Pure."""
