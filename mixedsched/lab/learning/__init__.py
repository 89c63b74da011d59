"""Learning from visits: simulated ones that teach a memory, and the search for a learned page's order."""
