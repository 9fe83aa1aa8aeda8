"""The loopback gateway for the model calls that the agent under test makes itself."""
