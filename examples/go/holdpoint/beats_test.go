package holdpoint

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Serves beats: signed ones are counted, and the last of the given states is repeated.
func beatServer(t *testing.T, states ...string) (*Claimant, chan string) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	beats := make(chan string, 1_000)
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		text, _ := io.ReadAll(request.Body)
		var body map[string]any
		if json.Unmarshal(text, &body) != nil {
			t.Error("not JSON")
		}
		said, _ := base64.RawURLEncoding.DecodeString(body["signature"].(string))
		delete(body, "signature")
		plain, _ := json.Marshal(body)
		canonical, _ := Canonical(plain)
		if !ed25519.Verify(public, []byte("holdpoint-claim/1\n"+canonical), said) {
			t.Error("a beat without its signature")
		}
		state := states[0]
		if len(states) > 1 {
			states = states[1:]
		}
		_ = json.NewEncoder(answer).Encode(map[string]any{"items": []any{map[string]any{"state": state}}})
		beats <- state
	}))
	t.Cleanup(server.Close)
	return &Claimant{URL: server.URL, private: private, x: base64.RawURLEncoding.EncodeToString(public)}, beats
}

func TestBeatsUntilTheWorkEnds(t *testing.T) {
	claimant, beats := beatServer(t, "held")
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	claimed := Claimed{LeaseMs: 30, Epoch: 1}
	go func() {
		claimant.beatUntil(ctx, claimed, func() {})
		close(ended)
	}()
	for range 3 {
		<-beats
	}
	stop()
	<-ended
}

func TestALostLeaseEndsTheWork(t *testing.T) {
	claimant, _ := beatServer(t, "held", "lost")
	ctx, stop := context.WithCancel(context.Background())
	claimant.beatUntil(ctx, Claimed{LeaseMs: 30, Epoch: 1}, stop)
	if ctx.Err() == nil {
		t.Error("the work goes on without its lease")
	}
}

func TestABusyServiceIsAskedAgainUnderTheSameName(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	var names []string
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		var body struct{ Claim string }
		if json.NewDecoder(request.Body).Decode(&body) != nil {
			t.Error("not JSON")
		}
		names = append(names, body.Claim)
		if len(names) == 1 {
			answer.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		stop()
	}))
	t.Cleanup(server.Close)
	claimant := &Claimant{URL: server.URL, Keys: Keys{"known": nil}}
	if err := claimant.Work(ctx, 0); err != nil && ctx.Err() == nil {
		t.Error(err)
	}
	if len(names) != 2 || names[0] == "" || names[0] != names[1] {
		t.Errorf("claims of the names %v", names)
	}
}
