/** Questions of servers during a call, which the user of the page answers. */
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { problemWords } from '../api/ask.ts';
import { ArgumentsForm, draftOf, readDraft } from '../form/form.tsx';
import { isSchema } from '../form/schema.ts';
import type { FieldProblem } from '../form/values.ts';
import { Problem } from '../parts/basics.tsx';
import { Said, Target } from '../parts/said.tsx';
import { State } from '../parts/state.tsx';
import { Block } from '../result/result.tsx';
import { asText } from '../words.ts';
import type { Attempt, Question } from './attempt.ts';

type Json = Readonly<Record<string, unknown>>;
type Answer = (result: Json | undefined) => void;

/** One question. @param server that asks it. */
export function Asked({
  question,
  attempt,
  server,
}: {
  readonly question: Question;
  readonly attempt: Attempt;
  readonly server: string;
}) {
  const [problem, setProblem] = useState<ReturnType<typeof problemWords>>();
  const [isSent, setSent] = useState(false);
  const place = useRef<HTMLElement>(null);
  const id = useId();
  // The question takes the focus, so that screen readers announce it.
  useLayoutEffect(() => place.current?.querySelector<HTMLElement>('input, select, textarea, button')?.focus(), []);
  const answer: Answer = (result) => {
    setSent(true);
    attempt.answer(question.key, result).catch((error: unknown) => {
      setProblem(problemWords(error));
      setSent(false);
    });
  };
  const { method, params } = question;
  return (
    <section class="asked" ref={place} aria-labelledby={id}>
      <h3 id={id}>
        <State tone="ask" shape="?" word={`${server} asks`} />
      </h3>
      <fieldset class="bare" disabled={isSent}>
        {method === 'elicitation/create' ? (
          params['mode'] === 'url' || typeof params['url'] === 'string' ? (
            <Link params={params} answer={answer} />
          ) : (
            <Form params={params} answer={answer} />
          )
        ) : method === 'sampling/createMessage' ? (
          <Sampling params={params} answer={answer} />
        ) : (
          <Other question={question} answer={answer} />
        )}
      </fieldset>
      {problem !== undefined && <Problem {...problem} />}
    </section>
  );
}

function Form({ params, answer }: { readonly params: Json; readonly answer: Answer }) {
  const schema = isSchema(params['requestedSchema']) ? params['requestedSchema'] : {};
  const [draft, setDraft] = useState(() => draftOf(schema));
  const [problems, setProblems] = useState<readonly FieldProblem[]>([]);
  const accept = (event: Event): void => {
    event.preventDefault();
    const read = readDraft(draft, schema);
    if ('problems' in read) setProblems(read.problems);
    else answer({ action: 'accept', content: JSON.parse(read.text) as unknown });
  };
  return (
    <form onSubmit={accept} noValidate>
      <Said text={asText(params['message'] ?? '')} max={2_000} isBlock />
      <p class="dim">Do not give secrets to a server by a form.</p>
      <ArgumentsForm schema={schema} draft={draft} set={setDraft} problems={problems} />
      <Acts accept="Answer" answer={answer} />
    </form>
  );
}

function Acts({ accept, answer }: { readonly accept: string; readonly answer: Answer }) {
  return (
    <div class="buttons">
      <button type="submit" class="strong">
        {accept}
      </button>
      <button type="button" onClick={() => answer({ action: 'decline' })}>
        Decline
      </button>
      <button type="button" onClick={() => answer({ action: 'cancel' })}>
        Cancel the question
      </button>
    </div>
  );
}

function Link({ params, answer }: { readonly params: Json; readonly answer: Answer }) {
  const address = asText(params['url'] ?? '');
  const host = URL.canParse(address) ? new URL(address).host : 'no address';
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        answer({ action: 'accept' });
      }}
    >
      <Said text={asText(params['message'] ?? '')} max={2_000} isBlock />
      <p>
        It wants you to open a page at{' '}
        <strong>
          <Said text={host} max={200} />
        </strong>
        :
      </p>
      <p>
        <Target address={address} />
      </p>
      <Acts accept="I have opened it" answer={answer} />
    </form>
  );
}

function Sampling({ params, answer }: { readonly params: Json; readonly answer: Answer }) {
  const [text, setText] = useState('');
  const messages = Array.isArray(params['messages']) ? (params['messages'] as readonly unknown[]).filter(isSchema) : [];
  const send = (event: Event): void => {
    event.preventDefault();
    answer({
      role: 'assistant',
      model: 'a person at the console',
      stopReason: 'endTurn',
      content: { type: 'text', text },
    });
  };
  return (
    <form onSubmit={send}>
      <p>It wants a model to go on here. You can write what the model would.</p>
      {typeof params['systemPrompt'] === 'string' && (
        <>
          <h4>System prompt</h4>
          <Said text={params['systemPrompt']} max={2_000} isBlock />
        </>
      )}
      {messages.slice(0, 50).map((message, index) => (
        <div key={index}>
          <h4>
            <Said text={asText(message['role'])} max={40} />
          </h4>
          {(Array.isArray(message['content']) ? (message['content'] as readonly unknown[]) : [message['content']]).map(
            (block, at) => (
              <Block key={at} block={block} />
            ),
          )}
        </div>
      ))}
      <label class="block">
        Answer of the model{typeof params['maxTokens'] === 'number' && `, ${params['maxTokens']} tokens at most`}
        <textarea required value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <div class="buttons">
        <button type="submit" class="strong">
          Send the answer
        </button>
        <button type="button" onClick={() => answer(undefined)}>
          Refuse
        </button>
      </div>
    </form>
  );
}

function Other({ question: { method, params }, answer }: { readonly question: Question; readonly answer: Answer }) {
  return (
    <>
      <p>
        <Said text={method} max={100} /> is nothing this page can answer.
      </p>
      <Said text={JSON.stringify(params, null, 2)} max={2_000} isBlock />
      <div class="buttons">
        <button type="button" onClick={() => answer(undefined)}>
          Refuse
        </button>
      </div>
    </>
  );
}
