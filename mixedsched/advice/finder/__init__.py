"""The scheme finder: which delivery scheme for which page and network, and what one scheme everywhere costs."""
