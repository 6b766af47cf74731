package tunnel_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/outrunner/outrunner/tunnel"
)

// A server takes tunnels on one path, and reaches each runner's handler by an
// http.RoundTripper. The runner opens no port.
func Example() {
	online := make(chan string, 1)
	server := &tunnel.Server{
		OnConnect: func(_ context.Context, info tunnel.RunnerInfo) { online <- info.ID },
	}
	mux := http.NewServeMux()
	mux.Handle("GET /v1/runners/{runner_id}/tunnel", server)
	listener := httptest.NewServer(mux)
	defer listener.Close()

	runner := &tunnel.Client{
		URL:      listener.URL,
		RunnerID: "laptop",
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, "hello from behind NAT, %s", r.URL.Query().Get("name"))
		}),
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	stopped := make(chan error)
	go func() { stopped <- runner.Run(ctx) }()

	client := &http.Client{Transport: server.Transport(<-online)}
	resp, err := client.Get("http://runner/greet?name=world")
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	fmt.Println(string(body), err)

	stop()
	fmt.Println(<-stopped)
	// Output:
	// hello from behind NAT, world <nil>
	// <nil>
}

// Requests of one order key start in the order in which the server sent them.
// A handler that has noted its place calls Admitted, and may then take its time
// while the next one starts.
func ExampleAdmitted() {
	order := make(chan string, 100)
	runner := &tunnel.Client{
		URL: "https://server.example", RunnerID: "laptop",
		OrderKey: func(r *http.Request) string { return r.Header.Get("X-Session") },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			order <- r.URL.Path // its place in the line
			tunnel.Admitted(r.Context())
			w.WriteHeader(http.StatusAccepted) // after some work
		}),
	}
	_ = runner.Run(context.Background())
}

// A server that refuses a runner says so before or after the upgrade, as the
// wire has it.
func ExampleServer_authorize() {
	server := &tunnel.Server{
		Authorize: func(r *http.Request, runnerID string) (owner string, err error) {
			if r.Header.Get("X-Omnigent-Runner-Tunnel-Token") == "" {
				return "", &tunnel.Refusal{Code: 4004, Reason: "runner tunnel token is required"}
			}
			return "ann", nil
		},
	}
	mux := http.NewServeMux()
	mux.Handle("GET /v1/runners/{runner_id}/tunnel", server)
}
