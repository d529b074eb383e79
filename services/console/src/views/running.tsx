/** A call under way: how far it is, what its server asks, and what came of it. */
import { useEffect, useState } from 'preact/hooks';
import { problemWords } from '../api/ask.ts';
import { Problem } from '../parts/basics.tsx';
import { Said } from '../parts/said.tsx';
import { State } from '../parts/state.tsx';
import { Result } from '../result/result.tsx';
import { asText, duration } from '../words.ts';
import type { AttemptOf, Course } from './attempt.ts';
import { Asked } from './questions.tsx';

export function Running({ attempt, server }: { readonly attempt: AttemptOf; readonly server: string }) {
  const course = attempt.course.value;
  const [problem, setProblem] = useState<ReturnType<typeof problemWords>>();
  const isRunning = course.phase === 'running' || course.phase === 'asking';
  return (
    <section class="running" aria-label="The call">
      <h2>The call</h2>
      <div role="status">{isRunning ? <State tone={course.questions.length > 0 ? 'ask' : 'warn'} shape={course.questions.length > 0 ? '?' : '◐'} word={course.questions.length > 0 ? 'waits for you' : 'running'} /> : course.phase === 'failed' ? <State tone="bad" shape="✗" word="failed" /> : <State tone="good" shape="✓" word="answered" />} {course.ms !== undefined && <span class="dim">after {duration(course.ms)}</span>}</div>
      {isRunning && <div class="buttons"><Since at={course.startedAt} /> <button type="button" onClick={() => void attempt.cancel().catch((error: unknown) => setProblem(problemWords(error)))}>Cancel</button></div>}
      {problem !== undefined && <Problem {...problem} />}
      <Progress course={course} isRunning={isRunning} />
      {course.questions.map((question) => <Asked key={question.key} question={question} attempt={attempt} server={server} />)}
      {course.problem !== undefined && <><Problem problem={course.problem.problem} advice={course.problem.advice} />{course.problem.reason !== undefined && <p class="dim">reason: <code>{course.problem.reason}</code></p>}</>}
      {course.raw !== undefined && <Result raw={course.raw} />}
      {course.logs.length > 0 && <details><summary>{course.logs.length} log messages of the server</summary><ol class="lines">{course.logs.map((line, index) => <li key={index}><span class="dim"><Said text={asText(line['level'] ?? '')} max={20} /></span> <Said text={asText(line['data'] ?? '')} max={1_000} /></li>)}</ol></details>}
    </section>
  );
}

function Since({ at }: { readonly at: number }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  return <span class="number" aria-hidden="true">{duration(Math.max(0, now - at))}</span>;
}

function Progress({ course: { progress }, isRunning }: { readonly course: Course; readonly isRunning: boolean }) {
  if (progress === undefined || !isRunning) return null;
  const { progress: done, total, message } = progress;
  const isKnown = typeof done === 'number' && typeof total === 'number' && total > 0;
  return <p><progress aria-label="progress" {...(isKnown ? { value: Math.min(done, total), max: total } : {})} /> {asText(done ?? '').slice(0, 20)}{isKnown && `/${total}`} {typeof message === 'string' && <Said text={message} max={200} />}</p>;
}
