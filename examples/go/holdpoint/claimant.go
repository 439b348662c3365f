package holdpoint

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// NothingHappened is the only error that states that nothing happened. After every other error the outcome is unknown.
type NothingHappened struct{ Code, Message string }

func (e *NothingHappened) Error() string { return e.Message }

// Run carries an effect out. Its context ends when the effect is cancelled or its lease is lost.
type Run func(ctx context.Context, effect Effect, epoch int) (map[string]any, error)

// Claimant claims the orders of some labels and carries them out, one after another.
type Claimant struct {
	URL, Token, Name string
	Runs             map[string]Run
	// Trusted keys of approvals; empty: those of the first answer.
	Keys Keys
	// Lease is the time after which a silent program has lost its effects; default 30 s.
	Lease time.Duration

	private ed25519.PrivateKey
	x       string
	begun   map[string]bool
}

type refusal struct {
	Code    string `json:"code"`
	Message string `json:"detail"`
	status  int
}

// Whether the service was busy or away: nothing was carried out, and the request may be repeated.
func (r *refusal) isBusy() bool {
	switch r.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func (r *refusal) Error() string { return r.Code + ": " + r.Message }

func (c *Claimant) leaseMs() int {
	if c.Lease == 0 {
		return 30_000
	}
	return int(c.Lease / time.Millisecond)
}

func (c *Claimant) request(ctx context.Context, method, path string, body, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	address := strings.TrimRight(c.URL, "/") + "/api/v1" + path
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("authorization", "Bearer "+c.Token)
	request.Header.Set("content-type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 400 {
		problem := refusal{Code: response.Status, status: response.StatusCode}
		_ = json.Unmarshal(content, &problem)
		return &problem
	}
	return json.Unmarshal(content, answer)
}

// Signs a beat or an end: the text is a prefix and the canonical body without its signature.
func (c *Claimant) signed(body map[string]any) (map[string]any, error) {
	body["x"] = c.x
	plain, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	canonical, err := Canonical(plain)
	if err != nil {
		return nil, err
	}
	signature := ed25519.Sign(c.private, []byte("holdpoint-claim/1\n"+canonical))
	body["signature"] = base64.RawURLEncoding.EncodeToString(signature)
	return body, nil
}

// Work claims until the context ends, or until `most` orders have ended; 0: without a limit.
func (c *Claimant) Work(ctx context.Context, most int) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	c.private, c.x = private, base64.RawURLEncoding.EncodeToString(public)
	c.begun = map[string]bool{}
	if len(c.Keys) == 0 {
		if err := c.fetchKeys(ctx); err != nil {
			return err
		}
	}
	uses := []string{}
	for label := range c.Runs {
		uses = append(uses, label)
	}
	for ended := 0; ctx.Err() == nil && (most == 0 || ended < most); {
		name := make([]byte, 16)
		if _, err := rand.Read(name); err != nil {
			return err
		}
		claim := map[string]any{
			"claim": hex.EncodeToString(name), "claimant": c.Name, "x": c.x, "uses": uses,
			"waitMs": 25_000, "leaseMs": c.leaseMs(),
		}
		var answer struct {
			Items []Claimed `json:"items"`
		}
		sentAt := time.Now()
		// A repeat under the same name finds the orders of an answer that was lost.
		for err := c.request(ctx, "POST", "/claims", claim, &answer); err != nil; {
			var refused *refusal
			if errors.As(err, &refused) && !refused.isBusy() {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
			}
			sentAt = time.Now()
			err = c.request(ctx, "POST", "/claims", claim, &answer)
		}
		for _, claimed := range answer.Items {
			c.carryOut(ctx, claimed, sentAt)
			ended++
		}
	}
	return nil
}

func (c *Claimant) fetchKeys(ctx context.Context) error {
	var published struct {
		Keys []struct{ PublicKey string }
	}
	if err := c.request(ctx, "GET", "/keys", nil, &published); err != nil {
		return err
	}
	c.Keys = Keys{}
	for _, key := range published.Keys {
		if err := c.Keys.Add(key.PublicKey); err != nil {
			return err
		}
	}
	return nil
}

func failedClean(code, message string) map[string]any {
	return map[string]any{"kind": "failed_clean", "error": map[string]any{"code": code, "message": message}}
}

func (c *Claimant) carryOut(ctx context.Context, claimed Claimed, sentAt time.Time) {
	start := fmt.Sprintf("%s %d", claimed.Order.ID, claimed.Epoch)
	if c.begun[start] {
		return
	}
	c.begun[start] = true
	c.end(ctx, claimed, c.resultOf(ctx, claimed, sentAt))
}

func (c *Claimant) resultOf(ctx context.Context, claimed Claimed, sentAt time.Time) map[string]any {
	if code := CheckGrant(claimed, c.Keys, time.Now().UnixMilli()); code != "" {
		return failedClean("REMOTE_GRANT_REFUSED", code)
	}
	var effect Effect
	if err := json.Unmarshal(claimed.Order.Effect, &effect); err != nil {
		return failedClean("REMOTE_ARGUMENTS_INVALID", err.Error())
	}
	run, offered := c.Runs[effect.Uses]
	if !offered || claimed.Kind != "run" {
		return failedClean("REMOTE_NOT_OFFERED", "this program does not carry it out")
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	// Less than half of the lease is left for certain: a beat confirms it before the start.
	if time.Since(sentAt) > time.Duration(claimed.LeaseMs/2)*time.Millisecond && !c.beat(ctx, claimed) {
		return failedClean("REMOTE_NOT_STARTED", "the lease is not certain")
	}
	go c.beatUntil(working, claimed, stop)
	outputs, err := run(working, effect, claimed.Epoch)
	var clean *NothingHappened
	switch {
	case err == nil:
		return map[string]any{"kind": "applied", "outputs": outputs}
	case errors.As(err, &clean):
		return failedClean("REMOTE_"+clean.Code, clean.Message)
	default:
		return map[string]any{"kind": "unknown", "reason": err.Error()}
	}
}

// Whether the ledger confirms the lease. A cancelled effect is not confirmed: its function stops if it can.
func (c *Claimant) beat(ctx context.Context, claimed Claimed) bool {
	items := []map[string]any{{"id": claimed.Order.ID, "epoch": claimed.Epoch}}
	body, err := c.signed(map[string]any{"items": items})
	if err != nil {
		return false
	}
	var answer struct {
		Items []struct{ State string } `json:"items"`
	}
	if err := c.request(ctx, "POST", "/claims/beats", body, &answer); err != nil {
		return false
	}
	return len(answer.Items) == 1 && answer.Items[0].State == "held"
}

func (c *Claimant) beatUntil(ctx context.Context, claimed Claimed, lose func()) {
	lease := time.Duration(claimed.LeaseMs) * time.Millisecond
	interval := lease / 3
	heldUntil := time.Now().Add(lease)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
		sentAt := time.Now()
		if c.beat(ctx, claimed) {
			heldUntil = sentAt.Add(lease)
		} else if time.Now().After(heldUntil.Add(-interval)) {
			lose()
		}
	}
}

// Repeats the end until it is recorded or refused: repeating it is harmless.
func (c *Claimant) end(ctx context.Context, claimed Claimed, result map[string]any) {
	body, err := c.signed(map[string]any{"id": claimed.Order.ID, "epoch": claimed.Epoch, "result": result})
	if err != nil {
		return
	}
	for wait := 200 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		var answer map[string]any
		err := c.request(ctx, "POST", "/claims/ends", body, &answer)
		var refused *refusal
		if err == nil || (errors.As(err, &refused) && strings.HasPrefix(refused.Code, "EXECUTOR_CLAIM_")) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}
