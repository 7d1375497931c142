package remote

// This file has one Work stream of a worker.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"time"
)

// stream is one connection of a worker. Its fields are under the worker's mu, except the constants.
type stream struct {
	worker  *Worker
	session string
	period  time.Duration // Between messages while keys are held.
	ctx     context.Context
	cancel  context.CancelFunc
	wake    chan struct{} // Wakes the sender; has room for one.

	ended     bool
	failure   error   // Of the message that ended the stream; nil: none did.
	pending   []reply // Not sent yet.
	sending   bool
	flushed   []chan struct{}              // Closed when nothing is pending or being sent.
	unsettled map[Uint64][]reply           // By token: sent or pending, without a result.
	asked     []Uint64                     // Not sent yet.
	askers    map[Uint64][]chan addedAgain // By token.
	started   []Uint64                     // Not sent yet; only with a KeyLimit.
	capacity  uint32                       // That the server was sent.
}

// reply is an answer, and what happens with its result.
type reply struct {
	Answer
	result        chan<- error // Nil: a refusal is reported.
	refusedIsFine bool
}

type addedAgain struct {
	again bool
	err   error
}

// connect opens a stream and serves it until it ends. connected: the server has welcomed the
// worker. The error is nil if the worker has ended the stream.
func (w *Worker) connect() (connected bool, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-w.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	welcomeLimit := time.AfterFunc(w.client.options.Timeout, cancel)
	defer welcomeLimit.Stop()
	w.mu.Lock()
	capacity := w.capacity()
	w.mu.Unlock()
	if capacity == 0 {
		return false, nil
	}
	answer, err := w.client.post(ctx, "Work/Work", WorkRequest{Hello: &Hello{
		Queue: w.options.Queue, Name: w.options.Name, Capacity: capacity,
		SilenceLimitUs: Microseconds(w.options.SilenceLimit),
		KeyLimitUs:     Microseconds(w.options.KeyLimit),
		// Without a limit the starts are not worth a message: a key hardly waits for its Get.
		TellsStarts: w.options.KeyLimit > 0}}, true)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	lines := json.NewDecoder(answer.Body)
	var first WorkResponse
	if err := lines.Decode(&first); err != nil {
		return false, w.client.broken(err)
	}
	if err := first.Error.Err(); err != nil {
		return false, err
	}
	if first.Welcome == nil || first.Welcome.Session == "" {
		return false, &Error{Code: codeNotSupported, Message: "the server sends no Welcome"}
	}
	if !welcomeLimit.Stop() {
		return false, w.client.broken(context.DeadlineExceeded)
	}
	s := &stream{
		worker: w, session: first.Welcome.Session, ctx: ctx, cancel: cancel,
		period: time.Duration(first.Welcome.SilenceLimitUs) * time.Microsecond / 3,
		wake:   make(chan struct{}, 1), capacity: capacity,
		unsettled: map[Uint64][]reply{}, askers: map[Uint64][]chan addedAgain{}}
	if s.period <= 0 {
		s.period = 10 * time.Second
	}
	w.mu.Lock()
	w.stream = s
	w.poke() // The demand may have changed since the Hello.
	w.mu.Unlock()
	sender := make(chan struct{})
	go func() {
		defer close(sender)
		s.send()
	}()
	err = s.receive(first, lines)
	w.mu.Lock()
	asked := ctx.Err() != nil && w.stopped // The worker ended it, having settled, or by Close.
	if s.failure != nil {
		err = s.failure
	}
	s.finish()
	w.mu.Unlock()
	cancel()
	<-sender
	if asked {
		return true, nil
	}
	return true, err
}

// receive handles the messages until the stream ends, and returns why it ended.
func (s *stream) receive(m WorkResponse, lines *json.Decoder) error {
	w := s.worker
	for {
		w.mu.Lock()
		s.handle(m)
		w.mu.Unlock()
		if err := m.Error.Err(); err != nil {
			return err
		}
		m = WorkResponse{}
		if err := lines.Decode(&m); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("it has ended the worker's stream")
			}
			return w.client.broken(err)
		}
	}
}

// handle handles one message. REQUIRES: mu.
func (s *stream) handle(m WorkResponse) {
	w := s.worker
	for _, r := range m.Results {
		s.settle(r.Token, r.Error.Err())
	}
	for _, a := range m.AddedAgain {
		waiting := s.askers[a.Token]
		if len(waiting) == 0 {
			continue
		}
		answer := addedAgain{again: a.AddedAgain}
		if !a.Held {
			answer.err = &Error{Code: codeNotProcessing, Message: "the key is not this worker's any more"}
		}
		waiting[0] <- answer
		if s.askers[a.Token] = waiting[1:]; len(waiting) == 1 {
			delete(s.askers, a.Token)
		}
	}
	for _, l := range m.Lost {
		w.lose(s, l)
	}
	w.assign(s, m.Assignments)
}

// settle takes the result of an answer. REQUIRES: mu.
func (s *stream) settle(token Uint64, err error) {
	replies := s.unsettled[token]
	if len(replies) == 0 {
		return
	}
	if s.unsettled[token] = replies[1:]; len(replies) == 1 {
		delete(s.unsettled, token)
	}
	r := replies[0]
	if r.result != nil {
		r.result <- err
	} else if err != nil && !r.refusedIsFine {
		s.worker.report(err)
	}
	s.worker.settle()
}

// answer queues an answer. REQUIRES: mu; the stream is the worker's present one.
func (s *stream) answer(r reply) {
	s.pending = append(s.pending, r)
	s.unsettled[r.Token] = append(s.unsettled[r.Token], r)
}

// ask queues a question. REQUIRES: mu.
func (s *stream) ask(token Uint64, answer chan addedAgain) {
	s.asked = append(s.asked, token)
	s.askers[token] = append(s.askers[token], answer)
}

// quiet reports whether every answer was sent and has its result. REQUIRES: mu.
func (s *stream) quiet() bool {
	return !s.sending && len(s.pending) == 0 && len(s.unsettled) == 0
}

func (s *stream) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// finish ends the stream: what it assigned is the server's again. REQUIRES: mu.
func (s *stream) finish() {
	w := s.worker
	s.ended = true
	w.stream = nil
	w.ready, w.deferred = nil, map[string]*Assignment{}
	broken := w.client.broken(errors.New("the connection broke before it answered"))
	for _, replies := range s.unsettled {
		for _, r := range replies {
			if r.result != nil {
				r.result <- broken
			}
		}
	}
	for _, waiting := range s.askers {
		for _, c := range waiting {
			c <- addedAgain{err: broken}
		}
	}
	s.pending, s.unsettled, s.asked, s.askers = nil, map[Uint64][]reply{}, nil, nil
	s.started = nil
	s.flush()
	w.settle()
}

// flush wakes the calls of Flush if nothing is to be sent. REQUIRES: mu.
func (s *stream) flush() {
	if !s.ended && (s.sending || len(s.pending) > 0) {
		return
	}
	for _, c := range s.flushed {
		close(c)
	}
	s.flushed = nil
}

// send sends what is pending until the stream ends. While keys are held it sends at least one
// message per period. A failed message ends the stream.
func (s *stream) send() {
	w := s.worker
	silence := time.NewTimer(s.period)
	defer silence.Stop()
	last := time.Now()
	for {
		select {
		case <-s.wake:
			runtime.Gosched() // The caller of Done often calls Get next: one message for both.
		case <-silence.C:
		case <-s.ctx.Done():
			return
		}
		for {
			w.mu.Lock()
			if s.ended {
				w.mu.Unlock()
				return
			}
			request, any := s.next()
			if !any && (w.assigned() == 0 || time.Since(last) < s.period) {
				w.mu.Unlock()
				break
			}
			s.sending = true
			w.mu.Unlock()
			err := w.client.call(
				s.ctx, "Work/Send", SendRequest{Session: s.session, Request: request}, &Empty{}, true)
			last = time.Now()
			w.mu.Lock()
			s.sending = false
			if err != nil { // Whatever it is, a new stream may work: the session may have ended.
				s.failure = w.client.broken(err)
				s.cancel()
			}
			s.flush()
			w.settle()
			w.mu.Unlock()
			if err != nil {
				return
			}
		}
		if !silence.Stop() {
			select {
			case <-silence.C:
			default:
			}
		}
		silence.Reset(s.period - time.Since(last)%s.period)
	}
}

// next takes what is to be sent. any: that is something. REQUIRES: mu.
func (s *stream) next() (request WorkRequest, any bool) {
	n := len(s.pending)
	if n > maxAnswers {
		n = maxAnswers
	}
	for _, r := range s.pending[:n] {
		request.Answers = append(request.Answers, r.Answer)
	}
	if s.pending = s.pending[n:]; len(s.pending) == 0 {
		s.pending = nil
	}
	request.AddedAgain, s.asked = s.asked, nil
	request.Started, s.started = s.started, nil
	if c := s.worker.capacity(); c != s.capacity {
		request.Capacity, s.capacity = &c, c
	}
	return request, n > 0 || request.AddedAgain != nil || request.Started != nil ||
		request.Capacity != nil
}
