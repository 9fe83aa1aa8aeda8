"""Where the work of a stage is done: in this process, or on the machines of a cluster."""
