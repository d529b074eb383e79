/**
 * A model of one call whose session workers are slow, frozen or killed. The decisions are the real ones (`SeenExchanges`, `afterAsking`); owners, backend
 * workers, the edge and the bus are the model. A breadth-first search tries every order of deliveries and faults within the bounds below.
 *
 * Each state is a list of actions, which is run again from the beginning to make the state. Messages from one sender to one receiver stay in order, as NATS
 * keeps them; all others overtake each other.
 *
 * Checked in every state: I1, a server gets the call at most once. I3, the client gets at most one answer. Checked in states without further deliveries:
 * I5, the client has the result if no backend worker died and nothing was forgotten.
 */
import { afterAsking, type AskedBackend } from '@omnibus/bus';
import {
  exchangeOf,
  newRequestKey,
  type AttachReply,
  type ExchangeContext,
  type Principal,
  type WorkerId,
} from '@omnibus/protocol';
import { expect, it } from 'vitest';
import { keepMs, markMs, SeenExchanges, type TakenCall } from './seen-exchanges.ts';

/** A guard that a mutant lacks. */
type Mutant =
  | 'fence'
  | 'owner of a cancellation'
  | 'every backend worker'
  | 'workers that are gone'
  | 'marks'
  | 'unsent calls only'
  | 'turn'
  | 'turn of a call'
  | 'calls that are given away';

const exchange = exchangeOf(newRequestKey(), 1);
const backendNames = ['P', 'Q'] as const;
const ownerNames = ['A', 'B', 'C'] as const;
type BackendName = (typeof backendNames)[number];
type OwnerName = (typeof ownerNames)[number];
/** Bounds of the search. */
/** The gate tries one fault in every place, and sees every state. The long lane tries two, up to a bound on states. */
const isLong = process.env['OMNIBUS_LANE'] === 'long';
const maxFaults = isLong ? 2 : 1;
const maxStates = 500_000;
const limitMs = 10 * 60_000;
const context = { principal: 'caller' as Principal } as ExchangeContext;
const result = { kind: 'result', result: { text: 'done' } } as const;

interface Letter {
  readonly from: OwnerName | BackendName;
  readonly to: OwnerName | BackendName;
  readonly kind: 'call' | 'cancel' | 'ask' | 'attach' | 'reply';
  /** Of a reply: the request that it answers. */
  readonly pending?: number | undefined;
  readonly event?: AttachReply | { readonly kind: 'refused' } | undefined;
  /** Of a call or a question: see `Begun`. */
  readonly turn?: number;
  /** Whether it is about the first copy of the request, whose answer no edge hears. */
  readonly isStray?: boolean;
}

interface Backend {
  seen: SeenExchanges;
  isDead: boolean;
  log: string;
  running: { call: TakenCall; handle: ReturnType<SeenExchanges['begin']>; isWritten: boolean } | undefined;
}

interface Owner {
  state: 'up' | 'frozen' | 'dead';
  /** `idle`: it has not sent the call, and may. */
  phase: 'none' | 'idle' | 'asking' | 'waiting' | 'over';
  asked: AskedBackend[];
  isIncomplete: boolean;
  expected: number;
  pending: number;
  turn: number;
  /** Whether the first copy of the request may still come to it, after it got the second one. */
  hasStray: boolean;
}

class World {
  readonly #mutant: Mutant | undefined;
  readonly owners: Record<OwnerName, Owner>;
  readonly backends: Record<BackendName, Backend>;
  letters: Letter[] = [];
  current: OwnerName = 'A';
  faults = 0;
  isForgetful = false;
  hasLostBackend = false;
  executions = 0;
  answers: string[] = [];
  isCancelled = false;
  #now = 0;
  #pendings = 0;
  #turn = 0;
  #sweeps: (() => void)[] = [];

  constructor(mutant: Mutant | undefined) {
    this.#mutant = mutant;
    const owner = (phase: Owner['phase']): Owner => ({
      state: 'up',
      phase,
      asked: [],
      isIncomplete: false,
      expected: 0,
      pending: 0,
      turn: 0,
      hasStray: false,
    });
    this.owners = { A: owner('idle'), B: owner('none'), C: owner('none') };
    const backend = (): Backend => ({ seen: this.#seen(), isDead: false, log: '', running: undefined });
    this.backends = { P: backend(), Q: backend() };
  }

  #seen(): SeenExchanges {
    const bounds = { maxKeptAnswerBytes: 1_000_000, maxKeptAnswerBytesPerCaller: 1_000_000 };
    const schedule = (
      _ms: number,
      run: () => void,
    ): ReturnType<ConstructorParameters<typeof SeenExchanges>[0]['schedule']> => {
      this.#sweeps.push(run);
      return { cancel: () => undefined, extend: () => undefined } as never;
    };
    return new SeenExchanges({ schedule } as never, bounds, { now: () => this.#now });
  }

  /** The same for all states with the same future: the two backend workers can change their names. */
  get key(): string {
    const [own, other] = [this.#keyWith('P', 'Q'), this.#keyWith('Q', 'P')];
    return own < other ? own : other;
  }

  #keyWith(first: BackendName, second: BackendName): string {
    const named = (name: string | undefined): string | undefined =>
      name === first ? 'one' : name === second ? 'two' : name;
    const { owners, backends, current, faults, executions, answers, isCancelled, isForgetful, hasLostBackend } = this;
    return JSON.stringify([
      Object.values(owners).map(({ state, phase, asked, isIncomplete, expected, turn, hasStray }) => [
        state,
        // Nothing that a dead owner knows matters.
        state === 'dead'
          ? ''
          : [phase, asked.map((each) => [named(each.worker), each.state]), isIncomplete, expected, turn, hasStray],
      ]),
      [first, second].map((at) => [backends[at].isDead, backends[at].isDead ? '' : backends[at].log]),
      this.letters
        .filter(({ to }) => !this.#isDeadOwner(to))
        .map(({ from, to, kind, event, pending, turn, isStray }): readonly [string, ...unknown[]] => [
          `${named(from)} ${named(to)}`,
          kind,
          event,
          pending === undefined || this.#isPending(to, pending),
          turn,
          isStray,
        ])
        // Only the order of one sender's letters to one receiver matters.
        .toSorted(([one], [other]) => (one < other ? -1 : one === other ? 0 : 1)),
      [current, faults, executions, answers, isCancelled, isForgetful, hasLostBackend],
    ]);
  }

  #isDeadOwner(name: Letter['to']): boolean {
    return name in this.owners && this.owners[name as OwnerName].state === 'dead';
  }

  #isPending(to: Letter['to'], pending: number): boolean {
    return to in this.owners && this.owners[to as OwnerName].pending === pending;
  }

  /** Everything that may happen next. */
  get actions(): string[] {
    const actions: string[] = [];
    const seen = new Set<string>();
    for (const [index, { from, to }] of this.letters.entries()) {
      if (seen.has(`${from}${to}`)) continue;
      seen.add(`${from}${to}`);
      if (!(to in this.owners) || this.owners[to as OwnerName].state === 'up') actions.push(`deliver ${index}`);
    }
    for (const name of ownerNames) {
      const { state, phase } = this.owners[name];
      if (state === 'up' && phase === 'idle') for (const at of backendNames) actions.push(`send ${name} ${at}`);
      if (state === 'up' && this.owners[name].hasStray)
        for (const at of backendNames) actions.push(`stray ${name} ${at}`);
      if (this.faults < maxFaults && state === 'up' && phase !== 'none' && name !== 'C')
        actions.push(`kill ${name}`, `freeze ${name}`);
      if (state === 'frozen') actions.push(`thaw ${name}`);
      if (state === 'up' && phase === 'waiting' && this.current !== name && this.#isTakenFrom(name))
        actions.push(`expire ${name}`);
    }
    for (const at of backendNames) {
      const { isDead, running } = this.backends[at];
      if (running?.isWritten === false) actions.push(`write ${at}`, `drop ${at}`);
      if (running?.isWritten === true) actions.push(`finish ${at}`);
      if (!isDead && this.faults < maxFaults) actions.push(`end ${at}`);
    }
    if (this.#isOpen && this.owners[this.current].state !== 'up' && this.current !== 'C') actions.push('take over');
    // The edge takes a worker for gone that is only slow: its probe says that it does not hold the command, or it is silent for too long.
    if (this.#isOpen && this.faults < maxFaults && this.current === 'A' && this.owners.A.state === 'up')
      actions.push('suspect');
    // The request has not come to its worker when the edge asks for it: it is sent again, and the first copy comes after all.
    if (
      this.#isOpen &&
      this.faults < maxFaults &&
      this.current === 'A' &&
      this.owners.A.state === 'up' &&
      this.owners.A.phase === 'idle' &&
      this.#turn === 0
    )
      actions.push('copy');
    if (
      this.#isOpen &&
      this.owners[this.current].state === 'up' &&
      this.owners[this.current].phase === 'waiting' &&
      this.faults < maxFaults
    )
      actions.push('client cancels');
    if (!this.isForgetful && this.faults < maxFaults && (this.backends.P.log + this.backends.Q.log).includes('finish'))
      actions.push('forget');
    return actions;
  }

  #isTakenFrom(name: OwnerName): boolean {
    return backendNames.some((at) => {
      const { running } = this.backends[at];
      return running !== undefined && running.call.owner !== (name as string);
    });
  }

  get #isOpen(): boolean {
    return this.answers.length === 0 && !this.isCancelled;
  }

  do(action: string): void {
    const [what, ...words] = action.split(' ') as [string, ...string[]];
    const [name, at] = words as [OwnerName, BackendName];
    switch (what) {
      case 'deliver': {
        const [letter] = this.letters.splice(Number(name), 1);
        this.#deliver(letter as Letter);
        return;
      }
      case 'send':
        this.#send(name, at, 'call');
        this.owners[name].phase = 'waiting';
        return;
      case 'kill':
        this.faults += 1;
        this.owners[name].state = 'dead';
        return;
      case 'freeze':
        this.faults += 1;
        this.owners[name].state = 'frozen';
        return;
      case 'thaw':
        this.owners[name].state = 'up';
        if (this.current !== name) this.#abandon(name, true);
        return;
      case 'expire':
        // Its time limit has passed while it was slow, and it has not heard that another worker owns the call.
        this.#abandon(name, false);
        return;
      case 'suspect':
        this.faults += 1;
        this.#takeOver();
        return;
      case 'copy':
        this.faults += 1;
        this.owners.A.hasStray = true;
        this.#ask('A');
        return;
      case 'stray':
        this.owners[name].hasStray = false;
        this.letters.push({ from: name, to: at, kind: 'call', turn: 0, isStray: true });
        return;
      case 'take':
        this.#takeOver();
        return;
      case 'client':
        this.faults += 1;
        this.isCancelled = true;
        this.#abandon(this.current, false);
        return;
      case 'forget':
        // Answers become marks, and then are forgotten.
        this.faults += 1;
        this.isForgetful = true;
        this.#now += keepMs + markMs + 1;
        for (const sweep of this.#sweeps.splice(0)) sweep();
        return;
      default:
        this.#backendDoes(what, name as unknown as BackendName);
    }
  }

  #backendDoes(what: string, at: BackendName): void {
    const backend = this.backends[at];
    backend.log += `${what} `;
    const { running } = backend;
    switch (what) {
      case 'end':
        this.faults += 1;
        this.hasLostBackend = true;
        backend.isDead = true;
        // The signs of life of the backend worker stop, and its owner finds out.
        if (running !== undefined)
          running.call.reply({ kind: 'fault', fault: { reason: 'gateway.interrupted', message: '' } });
        backend.running = undefined;
        return;
      case 'write':
        if (running === undefined) return;
        running.isWritten = true;
        this.executions += 1;
        return;
      case 'drop':
        // It waited for its place, and its session worker seemed gone.
        this.#end(backend, { kind: 'fault', fault: { reason: 'gateway.interrupted', message: '' } });
        return;
      case 'finish':
        this.#end(backend, result);
    }
  }

  #end(backend: Backend, outcome: Parameters<SeenExchanges['end']>[1]): void {
    const { running } = backend;
    if (running === undefined) return;
    backend.running = undefined;
    backend.seen.end(running.handle, outcome, this.#mutant === 'unsent calls only' ? false : running.isWritten);
    if (outcome !== undefined) running.call.reply(outcome);
  }

  #send(from: OwnerName, to: BackendName, kind: Letter['kind']): void {
    if (kind === 'call' || kind === 'attach') {
      this.#pendings += 1;
      this.owners[from].pending = this.#pendings;
    }
    this.letters.push({ from, to, kind, pending: this.owners[from].pending, turn: this.owners[from].turn });
  }

  /** A worker gives its calls up. @param isTaken another worker continues them: then it does not cancel them. */
  #abandon(name: OwnerName, isTaken: boolean): void {
    const owner = this.owners[name];
    if (owner.phase === 'waiting' && (!isTaken || this.#mutant === 'calls that are given away'))
      for (const at of backendNames) this.letters.push({ from: name, to: at, kind: 'cancel' });
    // A call that it has not sent may still be on its way out of it.
    if (owner.phase !== 'idle') owner.phase = 'over';
    owner.pending = 0;
  }

  #takeOver(): void {
    const next = ownerNames[ownerNames.indexOf(this.current) + 1] as OwnerName;
    this.current = next;
    this.#ask(next);
  }

  /** A worker gets the request, which may have been begun, and asks the backend workers. */
  #ask(next: OwnerName): void {
    const owner = this.owners[next];
    this.#turn += 1;
    owner.turn = this.#turn;
    owner.phase = 'asking';
    const living = backendNames.filter((at) => !this.backends[at].isDead);
    owner.isIncomplete = living.length < backendNames.length && this.#mutant !== 'workers that are gone';
    owner.expected = living.length;
    for (const at of living) this.letters.push({ from: next, to: at, kind: 'ask', turn: owner.turn });
    this.#decide(next);
  }

  #deliver(letter: Letter): void {
    if (letter.to in this.owners) this.#hear(letter.to as OwnerName, letter);
    else this.#receive(letter.to as BackendName, letter);
  }

  #receive(at: BackendName, { from, kind, pending, turn = 0, isStray = false }: Letter): void {
    const backend = this.backends[at];
    const owner = from as OwnerName;
    const back = (event: Letter['event']): void => {
      if (!isStray) this.letters.push({ from: at, to: owner, kind: 'reply', event, pending });
    };
    if (backend.isDead) {
      // NATS, or the missing signs of life, say that it is gone.
      if (kind !== 'cancel' && !isStray)
        this.letters.push({ from: at, to: owner, kind: 'reply', event: { kind: 'refused' }, pending });
      return;
    }
    backend.log += `${kind}${isStray ? ' stray' : ''} ${from} `;
    const by = owner as string as WorkerId;
    switch (kind) {
      case 'call': {
        const named = this.#mutant === 'turn of a call' ? this.#turn : this.#mutant === 'turn' ? 9 : turn;
        if (this.#mutant !== 'fence' && backend.seen.isFenced({ exchange, owner: by, turn: named })) {
          back({ kind: 'fault', fault: { reason: 'gateway.interrupted', message: '' } });
          return;
        }
        const call: TakenCall = { command: { exchange, context }, owner: by, reply: back };
        backend.running = { call, handle: backend.seen.begin(call, () => undefined), isWritten: false };
        return;
      }
      case 'cancel': {
        const { running } = backend;
        if (running === undefined || (running.call.owner !== by && this.#mutant !== 'owner of a cancellation')) return;
        this.#end(backend, undefined);
        return;
      }
      default:
        backend.seen.attach(
          {
            exchange,
            owner: by,
            ageMs: this.#mutant === 'marks' ? 0 : this.#now + 1,
            turn: this.#mutant === 'turn' ? 9 : turn,
            takes: kind === 'attach',
          },
          (event) =>
            // A question is answered under no request: its sender waits for one answer of each backend worker.
            kind === 'ask' ? this.letters.push({ from: at, to: owner, kind: 'reply', event }) : back(event),
        );
    }
  }

  #hear(name: OwnerName, { from, event, pending }: Letter): void {
    const owner = this.owners[name];
    if (owner.state === 'dead') return;
    if (owner.phase === 'asking') {
      const state = event?.kind === 'seen' ? event.state : undefined;
      owner.asked.push({ worker: from as string as WorkerId, state });
      this.#decide(name);
      return;
    }
    if (owner.phase !== 'waiting' || pending !== owner.pending) return;
    if (event?.kind === 'result') this.#answer(name, 'result');
    else if (event?.kind === 'seen' && event.state === 'never') owner.phase = 'idle';
    else if (event?.kind === 'seen' && event.state === 'cancelled') this.isCancelled ||= this.current === name;
    else this.#answer(name, 'unknown');
  }

  #decide(name: OwnerName): void {
    const owner = this.owners[name];
    const of = owner.isIncomplete
      ? [...owner.asked, { worker: name as string as WorkerId, state: undefined }]
      : owner.asked;
    const isLast =
      this.#mutant === 'every backend worker' ? owner.asked.length > 0 : owner.asked.length >= owner.expected;
    const found = afterAsking(isLast ? of : owner.asked, isLast);
    if (found === undefined) return;
    if (found === 'never') owner.phase = 'idle';
    else if (found.at === undefined) this.#answer(name, 'unknown');
    else {
      owner.phase = 'waiting';
      this.#send(name, found.at as string as BackendName, 'attach');
    }
  }

  #answer(name: OwnerName, text: string): void {
    const owner = this.owners[name];
    owner.phase = 'over';
    owner.pending = 0;
    // The edge hears only the worker that has the command now.
    if (this.current === name && !this.isCancelled) this.answers.push(text);
  }

  /** A broken invariant; undefined if all hold. */
  get problem(): string | undefined {
    if (this.executions > 1) return 'I1: the server got the call twice';
    if (this.answers.length > 1) return 'I3: the client got two answers';
    if (this.answers[0] === 'unknown' && !this.hasLostBackend && !this.isForgetful && this.#isCalm)
      return 'I5: the outcome is unknown, though no backend worker was lost';
    if (this.actions.length === 0 && this.#isOpen) return 'the client gets no answer';
    return undefined;
  }

  /** Whether an owner that was dropped as gone was so: a backend worker that drops a call of a living owner says so to it. */
  get #isCalm(): boolean {
    return !(this.backends.P.log + this.backends.Q.log).includes('drop');
  }
}

interface Found {
  readonly states: number;
  readonly problem: string | undefined;
  readonly path: readonly string[];
  readonly isWhole: boolean;
}

function search(mutant?: Mutant): Found {
  const known = new Set<string>();
  let level: (readonly string[])[] = [[]];
  while (level.length > 0) {
    const next: (readonly string[])[] = [];
    for (const path of level) {
      const world = run(path, mutant);
      for (const action of world.actions) {
        const longer = [...path, action];
        const made = run(longer, mutant);
        const { key } = made;
        if (known.has(key)) continue;
        known.add(key);
        const { problem } = made;
        if (problem !== undefined) return { states: known.size, problem, path: longer, isWhole: false };
        if (known.size >= maxStates) return { states: known.size, problem: undefined, path: [], isWhole: false };
        next.push(longer);
      }
    }
    level = next;
  }
  return { states: known.size, problem: undefined, path: [], isWhole: true };
}

function run(path: readonly string[], mutant?: Mutant): World {
  const world = new World(mutant);
  for (const action of path) world.do(action);
  return world;
}

it(
  'no order of deliveries and faults makes a call twice, answers it twice, or loses the answer of a living backend worker',
  { timeout: limitMs },
  () => {
    const { states, problem, path, isWhole } = search();
    console.log(`takeover: ${states} states`);
    expect({ problem, path, isWhole }).toEqual({ problem: undefined, path: [], isWhole: !isLong });
  },
);

it.each<[Mutant, RegExp]>([
  ['fence', /I1|no answer/],
  ['owner of a cancellation', /I5|no answer/],
  ['calls that are given away', /I5/],
  ['every backend worker', /I1/],
  ['unsent calls only', /I1/],
  ['turn of a call', /I1|no answer/],
])('without the guard "%s" the search finds a counter-example', findsCounterExample);

it.runIf(isLong).each<[Mutant, RegExp]>([
  ['workers that are gone', /I1/],
  ['marks', /I1/],
  ['turn', /I5|no answer/],
])('without the guard "%s" the search with two faults finds a counter-example', findsCounterExample);

function findsCounterExample(mutant: Mutant, problem: RegExp): void {
  const found = search(mutant);
  expect(`${found.problem}: ${found.path.join(', ')}`).toMatch(problem);
}
