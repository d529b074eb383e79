/** A call from the page: its progress, the questions of its server, and its outcome. */
import { useEffect, useState } from 'preact/hooks';
import type { Approval, Approvals, CatalogueEntry } from '@omnibus/admin-api';
import { problemWords } from '../api/ask.ts';
import { useLive } from '../api/live.ts';
import { Problem } from '../parts/basics.tsx';
import { Said } from '../parts/said.tsx';
import { State } from '../parts/state.tsx';
import { Result } from '../result/result.tsx';
import { hrefOf } from '../route.ts';
import { asText, duration } from '../words.ts';
import type { Attempt, AttemptState } from './attempt.ts';
import { Asked } from './questions.tsx';

/** The tried target: the tool, prompt or resource that the catalogue shows. */
type Tried = Pick<CatalogueEntry, 'server' | 'ownName'>;

export function Running({ attempt, entry }: { readonly attempt: Attempt; readonly entry: Tried }) {
  const state = attempt.state.value;
  const [problem, setProblem] = useState<ReturnType<typeof problemWords>>();
  const isRunning = state.phase === 'running' || state.phase === 'asking';
  const cancel = (): void => void attempt.cancel().catch((error: unknown) => setProblem(problemWords(error)));
  return (
    <section class="running" aria-label="The call">
      <h2>The call</h2>
      <div role="status">
        <Phase state={state} entry={entry} isRunning={isRunning} />{' '}
        {state.ms !== undefined && <span class="dim">after {duration(state.ms)}</span>}
      </div>
      {isRunning && (
        <div class="buttons">
          <Since at={state.startedAt} />{' '}
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        </div>
      )}
      {problem !== undefined && <Problem {...problem} />}
      <Progress state={state} isRunning={isRunning} />
      {state.questions.map((question) => (
        <Asked key={question.key} question={question} attempt={attempt} server={entry.server} />
      ))}
      {state.problem !== undefined && (
        <>
          <Problem problem={state.problem.problem} advice={state.problem.advice} />
          {state.problem.reason !== undefined && (
            <p class="dim">
              reason: <code>{state.problem.reason}</code>
            </p>
          )}
        </>
      )}
      {state.raw !== undefined && <Result raw={state.raw} />}
      <Logs logs={state.logs} />
    </section>
  );
}

function Phase({
  state,
  entry,
  isRunning,
}: {
  readonly state: AttemptState;
  readonly entry: Tried;
  readonly isRunning: boolean;
}) {
  if (isRunning && state.questions.length > 0) return <State tone="ask" shape="?" word="waits for you" />;
  if (isRunning) return <OnItsWay entry={entry} since={state.startedAt} />;
  return state.phase === 'failed' ? (
    <State tone="bad" shape="✗" word="failed" />
  ) : (
    <State tone="good" shape="✓" word="answered" />
  );
}

function Logs({ logs }: Pick<AttemptState, 'logs'>) {
  if (logs.length === 0) return null;
  return (
    <details>
      <summary>{logs.length} log messages of the server</summary>
      <ol class="lines" tabIndex={0} aria-label="Messages">
        {logs.map((line, index) => (
          <li key={index}>
            <span class="dim">
              <Said text={asText(line['level'] ?? '')} max={20} />
            </span>{' '}
            <Said text={asText(line['data'] ?? '')} max={1_000} />
          </li>
        ))}
      </ol>
    </details>
  );
}

/** A call without an answer: an approver may have it. Users without access to approvals see a running call. */
function OnItsWay({ entry, since }: { readonly entry: Tried; readonly since: number }) {
  const approvals = useLive<Approvals>('approvals');
  const waiting = approvals.value?.approvals.find((each) => isOf(each, entry, since));
  if (waiting === undefined) return <State tone="warn" shape="◐" word="running" />;
  return (
    <>
      <State tone="ask" shape="?" word="waits for approval" /> because of rule <Said text={waiting.rule} max={80} />.{' '}
      <a href={hrefOf('approvals', waiting.id)}>Look at it</a>
    </>
  );
}

/** Clocks of the page and the gateway differ by this much at most. */
const clocksMs = 5_000;

function isOf({ state, server, tool, at }: Approval, entry: Tried, since: number): boolean {
  return state === 'waiting' && server === entry.server && tool === entry.ownName && at >= since - clocksMs;
}

function Since({ at }: { readonly at: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  return (
    <span class="number" aria-hidden="true">
      {duration(Math.max(0, now - at))}
    </span>
  );
}

function Progress({ state: { progress }, isRunning }: { readonly state: AttemptState; readonly isRunning: boolean }) {
  if (progress === undefined || !isRunning) return null;
  const { progress: done, total, message } = progress;
  const isKnown = typeof done === 'number' && typeof total === 'number' && total > 0;
  return (
    <p>
      <progress aria-label="progress" {...(isKnown ? { value: Math.min(done, total), max: total } : {})} />{' '}
      {asText(done ?? '').slice(0, 20)}
      {isKnown && `/${total}`} {typeof message === 'string' && <Said text={message} max={200} />}
    </p>
  );
}
