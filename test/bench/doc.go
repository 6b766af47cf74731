// Package bench measures what the project claims of its speed. Each benchmark
// takes ours and what it is compared with by turns, in one run, so that a busy
// machine troubles both alike: read the ratios, and the rest as an order of
// magnitude. docs/performance.md says what they mean. "make bench" runs them.
package bench
