package terminal

import "time"

const (
	// commandLimit is how long tmux may take for one command. It answers in a
	// millisecond, unless the machine is overloaded.
	commandLimit = 10 * time.Second
	// closeLimit is how long ending a terminal may take.
	closeLimit = 5 * time.Second
	// stopGrace is how long a tmux client may take to go when it was told to.
	stopGrace = 2 * time.Second
	// reapLimit is how long tmux may take to learn how a program ended, when it
	// has seen that it did; between two looks, reapEvery.
	reapLimit = 2 * time.Second
	reapEvery = 20 * time.Millisecond
	// strikes is how often in a row tmux must be unreachable, without saying
	// why, until a terminal is given up (terminals.md T33); between, strikeEvery.
	strikes     = 3
	strikeEvery = time.Second
	// retryEvery is how often something is tried again that only waits for tmux.
	retryEvery = 20 * time.Millisecond
	// typedLimit is how long an agent's typing may wait for its turn.
	typedLimit = 30 * time.Second
)

const (
	maxInput    = 1 << 20   // bytes typed and not yet with the program, per terminal
	maxSmall    = 1 << 10   // more typed bytes than these are pasted
	maxPending  = 64        // commands that tmux has not answered, per terminal
	maxQueue    = 256 << 10 // bytes not yet taken, per viewer
	maxFrame    = 64 << 10  // bytes in one message to a viewer
	maxSeed     = 2 << 20   // bytes of a full picture
	maxPatch    = 64 << 10  // bytes of a picture in the middle of a flood
	seedLines   = 20000     // lines of history of a full picture; a browser keeps no more
	patchLines  = 500       // lines of history of a picture in the middle of a flood
	tailLines   = 100       // lines of the screen told of an exit
	maxClip     = 1 << 20   // bytes that a terminal may put into a clipboard
	defaultBack = 10000     // lines of history
	maxBack     = 1_000_000
)

// limits are the times that tests shorten.
type limits struct {
	firstResize  time.Duration // how long a new viewer may take to tell its size
	launchWait   time.Duration // how long an attach waits for a launch under way
	flush        time.Duration // how long viewers may take the last screen
	stuck        time.Duration // how long a viewer may take nothing at all
	settle       time.Duration // how quiet a flood must be for a full picture
	resizeEvery  time.Duration // the shortest time between two sizes
	resizeQuiet  time.Duration // how long a typist keeps the size without typing
	typing       time.Duration // how long after a key the echo is expected
	clipboard    time.Duration // how long after a key a clipboard may be filled
	activeEvery  time.Duration // the shortest time between two pieces of news
	rate         int           // bytes a second to one viewer, but for pictures
	reapInterval time.Duration // between two looks for idle terminals
}

func defaultLimits() limits {
	return limits{
		firstResize: 250 * time.Millisecond, launchWait: 5 * time.Second, flush: 5 * time.Second, stuck: 30 * time.Second,
		settle: 400 * time.Millisecond, resizeEvery: 50 * time.Millisecond, resizeQuiet: 10 * time.Second,
		typing: 750 * time.Millisecond, clipboard: 5 * time.Second, activeEvery: time.Second, rate: 2 << 20,
		reapInterval: time.Minute,
	}
}
