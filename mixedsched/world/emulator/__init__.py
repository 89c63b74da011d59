"""Emulated networks between client and server: `relay`, `netns`, `vm`, all behind one `Backend`; and probes that check them."""
