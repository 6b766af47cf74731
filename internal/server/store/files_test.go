package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFiles(t *testing.T) {
	d, _, _ := opened(t)
	s, other := session(t, d), session(t, d)
	var ids []string
	for range 3 {
		f := &File{ID: NewID(), Session: s, Name: "n", ContentType: "text/plain", Bytes: 3}
		d.must(t, func(tx *Tx) error { return tx.AddFile(f) })
		require.NotZero(t, f.CreatedAt)
		ids = append(ids, f.ID)
	}
	list := func(q FileQuery) (got []string, more bool) {
		t.Helper()
		q.Session = s
		rows, more, err := d.Read().Files(t.Context(), q)
		require.NoError(t, err)
		for _, f := range rows {
			got = append(got, f.ID)
		}
		return got, more
	}
	for name, c := range map[string]struct {
		q    FileQuery
		want []string
		more bool
	}{
		"newest first":     {FileQuery{Limit: 2}, []string{ids[2], ids[1]}, true},
		"all":              {FileQuery{Ascending: true}, ids, false},
		"after":            {FileQuery{Ascending: true, After: ids[0], Limit: 9}, ids[1:], false},
		"before":           {FileQuery{Before: ids[1], Limit: 9}, ids[2:], false},
		"after one gone":   {FileQuery{After: NewID(), Limit: 9}, nil, false},
		"as many as there": {FileQuery{Limit: 3, Ascending: true}, ids, false},
	} {
		got, more := list(c.q)
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.more, more, name)
	}
	_, err := d.Read().File(t.Context(), other, ids[0])
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorIs(t, d.Write(t.Context(), func(tx *Tx) error { return tx.DeleteFile(other, ids[0]) }), ErrNotFound)
	d.must(t, func(tx *Tx) error { return tx.DeleteFile(s, ids[0]) })
	got, _ := list(FileQuery{Ascending: true})
	require.Equal(t, ids[1:], got)
	d.must(t, func(tx *Tx) error { return tx.DeleteSession(t.Context(), s) })
	got, _ = list(FileQuery{})
	require.Empty(t, got)
}

func TestElicitations(t *testing.T) {
	d, _, _ := opened(t)
	above, asks := session(t, d), session(t, d)
	ask := func(session string, turn, want bool) {
		t.Helper()
		d.must(t, func(tx *Tx) error {
			added, err := tx.Ask(Elicitation{ID: "e", Session: session, Target: asks, Turn: turn, Event: []byte(`{"a":1}`)})
			require.Equal(t, want, added)
			return err
		})
	}
	ask(asks, true, true)
	ask(above, true, true)
	ask(above, true, false)
	e, err := d.Read().Elicitation(t.Context(), above, "e")
	require.NoError(t, err)
	require.Equal(t, Elicitation{ID: "e", Session: above, Target: asks, Turn: true, Event: []byte(`{"a":1}`)}, e)
	s, err := d.Read().Session(t.Context(), above)
	require.NoError(t, err)
	require.Equal(t, 1, s.Questions)
	asked, err := d.Read().Asked(t.Context(), asks)
	require.NoError(t, err)
	require.Len(t, asked, 1)
	asked, err = d.Read().Asked(t.Context(), above)
	require.NoError(t, err)
	require.Empty(t, asked, "it only shows the question")
	d.must(t, func(tx *Tx) error {
		shown, err := tx.Answered(t.Context(), asks, "e")
		require.ElementsMatch(t, []string{asks, above}, shown)
		return err
	})
	_, err = d.Read().Elicitation(t.Context(), above, "e")
	require.ErrorIs(t, err, ErrNotFound)

	ask(above, false, true)
	d.must(t, func(tx *Tx) error { return tx.DeleteSession(t.Context(), asks) })
	shown, err := d.Read().Elicitations(t.Context(), above)
	require.NoError(t, err)
	require.Empty(t, shown, "it goes with the session that asks")
}
