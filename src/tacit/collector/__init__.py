"""The collector: a service that takes reports in, keeps them once, and learns from them."""
