"""Who may ask and write: principals and their rights, API keys, tokens of an identity provider."""
