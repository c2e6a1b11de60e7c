"""What the contract asks of each slot, as tests to subclass; one module for each slot."""
