"""The Debugger panel: which tensor went bad first, where it was created, and what it looked like before."""
