// Package store is the embedded server's memory: one SQLite file, and all the
// SQL that the server has.
//
// A change is one function given to DB.Write: it sees a Tx, whose methods are
// named for the domain, and either all of it becomes durable or none. What a
// change publishes is written by Tx.Emit in the same transaction, as a row with
// a sequence number of its session; after the commit the rows are handed to the
// committed function in that same order. So what a viewer saw is always on
// disk, and the rows alone can replay it.
//
// There is one writing connection and one writer at a time. Readers have
// connections of their own and never wait for it.
package store
