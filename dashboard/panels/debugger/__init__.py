"""The panel Debugger: which tensor went bad first, where it was made, and what it looked like before."""
