/** A call from the page: its progress, the questions of its server, and its outcome. */
import { useEffect, useState } from 'preact/hooks';
import { problemWords } from '../api/ask.ts';
import { Problem } from '../parts/basics.tsx';
import { Said } from '../parts/said.tsx';
import { State } from '../parts/state.tsx';
import { Result } from '../result/result.tsx';
import { asText, duration } from '../words.ts';
import type { Attempt, AttemptState } from './attempt.ts';
import { Asked } from './questions.tsx';

export function Running({ attempt, server }: { readonly attempt: Attempt; readonly server: string }) {
  const state = attempt.state.value;
  const [problem, setProblem] = useState<ReturnType<typeof problemWords>>();
  const isRunning = state.phase === 'running' || state.phase === 'asking';
  return (
    <section class="running" aria-label="The call">
      <h2>The call</h2>
      <div role="status">
        {isRunning ? (
          <State
            tone={state.questions.length > 0 ? 'ask' : 'warn'}
            shape={state.questions.length > 0 ? '?' : '◐'}
            word={state.questions.length > 0 ? 'waits for you' : 'running'}
          />
        ) : state.phase === 'failed' ? (
          <State tone="bad" shape="✗" word="failed" />
        ) : (
          <State tone="good" shape="✓" word="answered" />
        )}{' '}
        {state.ms !== undefined && <span class="dim">after {duration(state.ms)}</span>}
      </div>
      {isRunning && (
        <div class="buttons">
          <Since at={state.startedAt} />{' '}
          <button
            type="button"
            onClick={() => void attempt.cancel().catch((error: unknown) => setProblem(problemWords(error)))}
          >
            Cancel
          </button>
        </div>
      )}
      {problem !== undefined && <Problem {...problem} />}
      <Progress state={state} isRunning={isRunning} />
      {state.questions.map((question) => (
        <Asked key={question.key} question={question} attempt={attempt} server={server} />
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
      {state.logs.length > 0 && (
        <details>
          <summary>{state.logs.length} log messages of the server</summary>
          <ol class="lines">
            {state.logs.map((line, index) => (
              <li key={index}>
                <span class="dim">
                  <Said text={asText(line['level'] ?? '')} max={20} />
                </span>{' '}
                <Said text={asText(line['data'] ?? '')} max={1_000} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </section>
  );
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
