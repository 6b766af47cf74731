// Package browser looks at the web pages as people do: a real Chromium opens
// the pages of the built server, clicks, and types into terminals of the built
// runner. What a terminal shows on the page must be what tmux says that it
// shows, and what was typed is counted where it arrives.
//
// chromium_test.go starts one Chromium for all tests, page_test.go is a tab of
// it, screen_test.go a terminal on a page, world_test.go a server and a runner,
// which each test has for itself. Each tab has a browser profile of its own.
// A page that breaks its own content security policy, throws, or asks anybody
// but its server for anything fails the test that opened it (watch_test.go). Of
// a failed test a picture of each page and what its console said are kept: run
// with -artifacts.
//
// The package is a module of its own, so that programs that use the packages of
// outrunner do not learn of Chromium. setup.sh installs what the tests need.
package browser
