package core

// met is all that a run must meet: what happens, the events and answers that
// the core is given, what it records, faults, preconditions of the rows of the
// scenario table, and checks of each invariant.
const met = `
act a guess
act again
act agent
act another
act answer
act approval
act archive
act busy
act cancel
act checkpoint
act closed on the server
act create
act delete
act deleted on the server
act dispatched elsewhere
act down
act effort_change
act elsewhere
act end
act forward
act get
act in a terminal
act init
act insists
act interrupt
act list tools
act look up
act made elsewhere
act marker
act message
act missed
act of a terminal
act overtaken
act parent deleted
act read
act read again
act rebind
act request gone
act reset
act restart
act result
act retire
act revision
act seen
act send
act send by id
act skill
act status
act stop_session
act stream
act timer
act unknown_kind
act unstored
act up
act use terminal
act wipe
act works
act write
event core.AgentAsked
event core.Answer
event core.ChildCreated
event core.ChildFound
event core.ChildStamped
event core.ChildrenRead
event core.Control
event core.ControlPosted
event core.Delete
event core.Evaluated
event core.Frame
event core.Get
event core.HarnessClosed
event core.Init
event core.LabelsPatched
event core.LookedUp
event core.Message
event core.PhaseJudged
event core.RequestGone
event core.Reset
event core.ResolveSkill
event core.Restored
event core.Retire
event core.Scanned
event core.Seen
event core.SessionSpawned
event core.SiblingsListed
event core.SnapshotRead
event core.SpecRead
event core.Status
event core.Stored
event core.StreamOpened
event core.TaskPosted
event core.TerminalUsed
event core.TextRead
event core.TimerFired
event core.Told
event core.ToolAnswered
event core.ToolCall
event core.ToolList
event core.ToolResult
event core.TunnelDown
event core.TunnelUp
event core.TurnEnded
event core.UseJudged
event core.WakePosted
record asked
record called
record child
record cursor
record drained
record ended
record gone
record identity
record item
record native
record opened
record order
record out
record rail
record recovery
record result
record returned
record seen
record settled
record stored
record took
answer Scanned twice
answer core.CallTool
answer core.CloseHarness
answer core.CreateChild
answer core.Evaluate
answer core.FindChild
answer core.JudgePhase
answer core.JudgeUse
answer core.ListSiblings
answer core.LookUp
answer core.PatchLabels
answer core.PostControl
answer core.PostTask
answer core.PostWake
answer core.PostWake is slow
answer core.ReadChildren
answer core.ReadSnapshot
answer core.ReadSpec
answer core.ReadText
answer core.Scan
answer core.SpawnSession
answer core.StampChild
answer core.Store
answer core.UseTerminal
answer that was true when it was asked for
fault close: the server is unwell
fault core.CallTool: the server is unwell
fault core.CreateChild: the server is unwell
fault core.Evaluate: the server is unwell
fault core.FindChild: the server is unwell
fault core.JudgePhase: the server is unwell
fault core.JudgeUse: the server is unwell
fault core.ListSiblings: the server is unwell
fault core.LookUp: the server is unwell
fault core.PatchLabels: the server is unwell
fault core.PostControl: the server is unwell
fault core.PostTask: the server is unwell
fault core.PostWake: rejected by the server
fault core.PostWake: the server is unwell
fault core.ReadChildren: the server is unwell
fault core.ReadText: the server is unwell
fault core.SpawnSession: the server is unwell
fault core.StampChild: the server is unwell
fault core.UseTerminal: the server is unwell
fault items: stale cursor
fault items: the server is unwell
fault snapshot: 404
fault snapshot: 500
fault snapshot: an empty object
fault snapshot: of another session
fault spec: not found
fault spec: rejected by the server
fault spec: the server is unwell
fault store: 500
fault store: lost reply
fault store: not found
fault store: rejected by the server
crash after commit
crash before commit
timer delete
timer grace
timer init
timer interrupt
timer launch
timer rescan
timer resume
timer sweep
timer unread
timer wake
init of an older server
init plain
init resume
init suppress
status failed
status idle
status idle completed
status idle without output
status outcome cancelled
status outcome completed
status outcome failed
row A2 a scan finds nothing
row A2 a scan of a session of another runner
row A3 S136 a scan in a turn
row A6 a scan finds a dead turn that did not speak
row A6 a scan finds a dead turn that spoke
row C2 a child whose result waits
row C3 a receipt is owed
row C4 a child whose task may not be sent
row C5 a child at work
row C8 a child that was never dispatched
row S1 a message to an unknown session
row S10 S51 no parent
row S104 a parent's turn ends, and results wait
row S115 a reading of one
row S119 a reading of nothing
row S12 identity is not known
row S122 a send to a closed child
row S122 a send to nobody
row S125 a stop of one that is not known
row S126 nothing new
row S127 a message is last
row S127 another's answer is last
row S130 a scan cannot read the items
row S139 a scan cannot read the snapshot
row S141 our own items
row S142 a marker is last
row S148 a scan of an older connection
row S151 a scan of an unknown session
row S159 a bare idle
row S160 a bare idle, no entry
row S172 an interrupt is pending
row S174 an interrupt of other work
row S181 a child that completed elsewhere
row S182 a child that has not begun
row S182 a child that was read
row S183 a child that failed elsewhere
row S184 a child in progress
row S184 a child that was cut off
row S185 a child that is awaited
row S189 the children cannot be listed
row S195 the first that is heard is a reading
row S198 a guess was delivered
row S201 a reading of several
row S205 a send to a child that starts
row S206 a send into a turn
row S207 a send to a busy child without an entry
row S208 a send to an idle child
row S211 a send to a new child
row S212 a child with a number
row S212 a number that is taken
row S218 a message that a turn names
row S219 a message that is queued
row S226 an operation that was answered
row S30 an override
row S31 after an override
row S32 override auto
row S35 a name that outlived a reset
row S42 launching
row S42 running
row S42 waiting
row S43 it was delivered
row S44 a failure after a completion
row S5 S8 the first that is heard of the session
row S5 no entry
row S57 no inbox
row S59 S168 undelivered, and another end
row S63 S202 a send to a child whose result is not read
row S65 the parent was deleted
row S73 an inner child
row S76 an end while the snapshot is read for another
row S77 its task is being posted
row S8 no entry, no inbox
row S86 S93 a child's turn completes
row S87 S100 a child's turn ends, no entry
row S9 S64 it was read
row S90 a child's turn fails
row S92 a message in a turn
row S92 a turn ends, and more waits
row S95 a turn ends for an interrupt
row a message after a 404
row a message at rest
row a message while a dead turn is open
row a message while the session closes
row a message that may join a turn
row a runner leaves
row a runner that is busy stays
row B1 a result that nobody was told of is put down
row B7 a result that has no inbox is put down
row a reading beside another
row a scan after a stale cursor
row a scan of a session that was deleted
row a scan that a forward has overtaken
row a scan under older caches
row a send whose child cannot be looked for
row a title that is taken
row a turn ends
row a turn ends for a delete or reset
row a turn ends for a stop
row a turn ends that is not in the slot
row an answer to a send that is gone
row second payload
row what was read by a turn that was cut off is read again
checked I1
checked I10
checked I11
checked I12
checked I13
checked I14
checked I15
checked I16
checked I17
checked I18
checked I19
checked I2
checked I20
checked I21
checked I3
checked I4
checked I5
checked I6
checked I7
checked I8
checked I9
checked journal
checked promise
checked reply
`
