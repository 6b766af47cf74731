// Package screen models what a terminal shows.
package screen
