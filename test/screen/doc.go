// Package screen holds the terminal of browsers, xterm.js, as a program that
// tells its whole state: internal/terminal/screen is compared with it, cell by
// cell, by its tests with the build tag xterm. It needs node and npm;
// `make xterm` runs it.
package screen
