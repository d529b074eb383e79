/** One call that waits for approvers: what exactly it is, and the decision about it. */
import type { Approval, ApprovalPage, Decided, Decision } from '@omnibus/admin-api';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { post, problemWords, remove } from '../api/ask.ts';
import { refresh, useLive } from '../api/live.ts';
import { Fact, Problem, Shown } from '../parts/basics.tsx';
import { Said } from '../parts/said.tsx';
import { ApprovalState, State } from '../parts/state.tsx';
import { duration, numberWords } from '../words.ts';
import { targetOf, whoOf } from './waiting-call.ts';

type DecidedHere = (id: string, words: string) => void;

export function OneApproval({ id, decided }: { readonly id: string; readonly decided: DecidedHere }) {
  const page = useLive<ApprovalPage>(`approvals/${encodeURIComponent(id)}`);
  return (
    <section class="detail" aria-label="The chosen call">
      <Shown live={page}>{({ approval, at }) => <Call call={approval} at={at} decided={decided} />}</Shown>
    </section>
  );
}

function Call({ call, at, decided }: { readonly call: Approval; readonly at: string; readonly decided: DecidedHere }) {
  /** The call as first shown: a decision is about this one, whatever its later state. */
  const [seen, see] = useState(call);
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus({ preventScroll: true }), []);
  const isOther = seen.digest !== call.digest;
  return (
    <>
      <h2 tabIndex={-1} ref={heading}>
        {call.state === 'waiting' ? 'Approve ' : ''}
        <Said text={targetOf(seen)} max={120} />
        {call.state === 'waiting' ? '?' : ''}
      </h2>
      <p>
        <ApprovalState state={call.state} />{' '}
        {call.state === 'waiting' ? (
          `${duration(Math.max(0, call.until - Date.parse(at)))} left`
        ) : (
          <Outcome {...call} />
        )}
      </p>
      <Facts {...seen} votes={call.votes} />
      {isOther ? (
        <div class="problem" role="alert">
          <State tone="bad" shape="✗" word="this is another call by now" /> than the one that is shown: nothing of it
          can be decided before you have looked at it.{' '}
          <button type="button" onClick={() => see(call)}>
            Show what it is now
          </button>
        </div>
      ) : (
        call.state === 'waiting' &&
        (call.mayDecide ? (
          <Form call={seen} decided={decided} />
        ) : call.isVoted === true ? (
          <Withdrawal call={call} />
        ) : (
          <p>
            <State tone="off" shape="○" word="You may not decide it" />:{' '}
            <Said text={call.obstacle ?? 'the gateway does not say why'} max={400} />.
          </p>
        ))
      )}
    </>
  );
}

function Outcome({ state, by, reason, until }: Approval) {
  if (by === undefined)
    return (
      <>
        {state === 'expired' ? (
          <>
            nobody decided by{' '}
            <time dateTime={new Date(until).toISOString()}>{new Date(until).toLocaleTimeString()}</time>; its caller was
            told
          </>
        ) : (
          'its client cancelled it or is gone'
        )}
      </>
    );
  return (
    <>
      by <Said text={by} max={200} />
      {reason !== undefined && (
        <>
          : <Said text={reason} max={500} />
        </>
      )}
    </>
  );
}

const kindWords = { tool: 'Tool', prompt: 'Prompt', resource: 'Resource' } as const;

function Facts(call: Approval) {
  const { kind = 'tool', server, tool, rule, because, approvers, digest, worker, until, hidden, state } = call;
  return (
    <dl>
      <Fact name={kindWords[kind]}>
        <code>
          <Said text={tool} max={Infinity} />
        </code>{' '}
        of server <Said text={server} max={100} />
      </Fact>
      {kind !== 'resource' && (
        <Fact name="Arguments">
          <Said text={laidOut(call.arguments)} max={Infinity} isBlock />
        </Fact>
      )}
      {hidden !== undefined && (
        <Fact name="Not shown">
          <State tone="warn" shape="!" word={`${numberWords(hidden)} more characters`} />
          {state === 'waiting' ? ', so it can only be refused.' : ': the call waits no more.'}
        </Fact>
      )}
      <Fact name="Who">
        <Who {...call} />
      </Fact>
      <Fact name="Rule">
        <code>
          <Said text={rule} max={200} />
        </code>
        {because !== undefined && (
          <>
            : <Said text={because} max={400} />
          </>
        )}
      </Fact>
      <Fact name="Approvers">
        {approvers === undefined ? (
          'everybody with the role approver, operator or admin'
        ) : (
          <Said text={approvers.join(', ')} max={400} />
        )}
      </Fact>
      <Votes {...call} />
      <Fact name="Until">
        <time dateTime={new Date(until).toISOString()}>{new Date(until).toLocaleString()}</time>
      </Fact>
      <Fact name="Digest">
        <code>{digest}</code>
      </Fact>
      <Fact name="Held by">
        <code>{worker}</code>
      </Fact>
    </dl>
  );
}

/** The approvals so far, where several are needed. */
function Votes({ quorum, votes = [] }: Approval) {
  if (quorum === undefined) return null;
  return (
    <Fact name="Approvals">
      {`${votes.length} of ${quorum}`}
      {votes.length > 0 && (
        <>
          : <Said text={votes.map((vote) => vote.by).join(', ')} max={400} />
        </>
      )}
    </Fact>
  );
}

function Who(call: Approval) {
  const { client, tenant } = call;
  return (
    <>
      <Said text={whoOf(call)} max={400} />
      {client !== undefined && (
        <>
          , with the client <Said text={client} max={100} />
        </>
      )}
      {tenant !== undefined && (
        <>
          , of the tenant <Said text={tenant} max={100} />
        </>
      )}
    </>
  );
}

/** Deeply nested JSON grows with its line breaks. */
const maxLaidOut = 500_000;

/** JSON with line breaks, where that shows the same: numbers that JavaScript would change are left as they are. */
function laidOut(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (JSON.stringify(value) !== text) return text;
    const laid = JSON.stringify(value, null, 2);
    return laid.length > maxLaidOut ? text : laid;
  } catch {
    return text; // Cut, so it is no JSON.
  }
}

const outcomeWords: Readonly<Record<Decided['state'], string>> = {
  approved: 'approved, and goes on',
  waiting: 'approved by you, and waits for further approvers',
  refused: 'refused, and its caller is told',
};

/** Of a call that the user has approved and that waits for further approvers. */
function Withdrawal({ call: { id, obstacle } }: { readonly call: Approval }) {
  const [problem, setProblem] = useState<ReturnType<typeof problemWords>>();
  const withdraw = (): void => {
    remove(`approvals/${encodeURIComponent(id)}`)
      .catch((error: unknown) => setProblem(problemWords(error)))
      .finally(refresh);
  };
  return (
    <>
      <p>
        <Said text={obstacle ?? ''} max={400} />.{' '}
        <button type="button" onClick={withdraw}>
          Withdraw your approval
        </button>
      </p>
      {problem !== undefined && <Problem {...problem} />}
    </>
  );
}

/** Times to choose from, in milliseconds: usual ones below the limit of the rule, and the limit. */
function timesWithin(lasts: number): readonly number[] {
  const usual = [15, 30, 60, 240, 480, 1_440].map((minutes) => minutes * 60_000);
  return [...usual.filter((ms) => ms < lasts), lasts];
}

/** The choice between this call alone and further ones for a time, if the rule has it. */
function TimeChoice({
  call: { lasts, kind },
  forMs,
  choose,
}: {
  readonly call: Approval;
  readonly forMs: number;
  readonly choose: (ms: number) => void;
}) {
  if (lasts === undefined) return null;
  return (
    <label class="block">
      Approve{' '}
      <span class="help">
        Further calls are those of this {kind ?? 'tool'} by this caller and client that the rule asks about, with other
        arguments too.
      </span>
      <select value={String(forMs)} onChange={(event) => choose(Number(event.currentTarget.value))}>
        <option value="0">this call alone</option>
        {timesWithin(lasts).map((ms) => (
          <option key={ms} value={String(ms)}>{`this call, and further ones for ${duration(ms)}`}</option>
        ))}
      </select>
    </label>
  );
}

function Form({ call, decided }: { readonly call: Approval; readonly decided: DecidedHere }) {
  const [reason, setReason] = useState('');
  const [forMs, setForMs] = useState(0);
  const [problem, setProblem] = useState<ReturnType<typeof problemWords>>();
  const [isSent, setSent] = useState(false);
  const decide = async (approve: boolean): Promise<void> => {
    setSent(true);
    setProblem(undefined);
    const decision: Decision = {
      digest: call.digest,
      approve,
      ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
      ...(approve && forMs > 0 ? { forMs } : {}),
    };
    try {
      const { state } = await post<Decided>(`approvals/${encodeURIComponent(call.id)}`, decision);
      decided(call.id, `${targetOf(call)} of ${whoOf(call)} is ${outcomeWords[state]}.`);
    } catch (error) {
      setProblem(problemWords(error));
      setSent(false);
      refresh();
    }
  };
  return (
    <form onSubmit={(event) => event.preventDefault()}>
      <fieldset class="bare" disabled={isSent}>
        <label class="block">
          Reason <span class="help">The caller is told it if you refuse.</span>
          <input type="text" maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
        </label>
        <TimeChoice call={call} forMs={forMs} choose={setForMs} />
        <div class="buttons">
          {call.hidden === undefined && (
            <button type="button" class="strong" onClick={() => void decide(true)}>
              Approve this call
            </button>
          )}
          <button type="button" onClick={() => void decide(false)}>
            Refuse it
          </button>
        </div>
      </fieldset>
      {problem !== undefined && <Problem {...problem} />}
    </form>
  );
}
