// Package webterminal runs the built server and runner with a real tmux, and
// looks at terminals as the web page of the Omnigent server does (terminals.md
// 3.2-3.8): it lists and makes them, says its size first, types bytes, heeds the
// close codes, and dials again with a screen that starts from nothing. What it
// then sees must be what the program shows.
//
// browser_linux_test.go is that page; its screen is our model of one.
package webterminal
