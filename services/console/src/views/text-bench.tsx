/** Tries what takes texts alone: prompts, resources, and templates of their addresses, with the suggestions of their server. */
import type { CatalogueEntry } from '@omnibus/admin-api';
import { useEffect, useState } from 'preact/hooks';
import { may } from '../parts/may.ts';
import { Said } from '../parts/said.tsx';
import { isSchema as isObject } from '../form/schema.ts';
import { count } from '../words.ts';
import { AsClient, firstClient } from './as-client.tsx';
import { Attempt, type AttemptState } from './attempt.ts';
import { Running } from './running.tsx';
import { expand, variablesOf } from './template.ts';

interface Field {
  readonly name: string;
  readonly description: string;
  readonly isRequired: boolean;
}

function fieldsOf({ kind, name, arguments: given = [] }: CatalogueEntry): readonly Field[] {
  if (kind === 'template')
    return variablesOf(name).map((variable) => ({ name: variable, description: '', isRequired: false }));
  return given.flatMap((each) =>
    isObject(each) && typeof each['name'] === 'string'
      ? [
          {
            name: each['name'],
            description: typeof each['description'] === 'string' ? each['description'] : '',
            isRequired: each['required'] === true,
          },
        ]
      : [],
  );
}

export function TextBench({ entry, endpoint }: { readonly entry: CatalogueEntry; readonly endpoint: string }) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [client, setClient] = useState(firstClient);
  const [attempt, setAttempt] = useState<Attempt>();
  useEffect(() => () => attempt?.leave(), [attempt]);
  const { mayChange } = may();
  const { kind, name } = entry;
  const isPrompt = kind === 'prompt';
  const fields = fieldsOf(entry);
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
  const uri = kind === 'template' ? expand(name, values) : name;
  const run = (event: Event): void => {
    event.preventDefault();
    const about = isPrompt
      ? { method: 'prompts/get', name, arguments: JSON.stringify(given) }
      : { method: 'resources/read', name: uri, arguments: '{}' };
    setAttempt(new Attempt({ endpoint, ...about, ...client }));
  };
  return (
    <>
      {entry.description !== undefined && <Said text={entry.description} max={600} isBlock />}
      <form class="bench" onSubmit={run}>
        {fields.map((field) => (
          <TextField
            key={field.name}
            field={field}
            value={values[field.name] ?? ''}
            set={(value) => setValues({ ...values, [field.name]: value })}
            ask={(value) =>
              new Attempt({
                endpoint,
                method: 'completion/complete',
                name,
                arguments: JSON.stringify({
                  ref: isPrompt ? { type: 'ref/prompt', name } : { type: 'ref/resource', uri: name },
                  argument: { name: field.name, value },
                  context: { arguments: given },
                }),
                revision: client.revision,
                may: [],
              })
            }
          />
        ))}
        {kind === 'template' && (
          <p>
            reads <code>{uri}</code>
          </p>
        )}
        <AsClient client={client} set={setClient} />
        <div class="buttons">
          <button type="submit" class="strong" disabled={!mayChange} title={mayChange ? undefined : 'for operators'}>
            {isPrompt ? 'Get' : 'Read'}
          </button>
        </div>
      </form>
      {attempt !== undefined && <Running attempt={attempt} entry={entry} />}
    </>
  );
}

interface TextFieldProps {
  readonly field: Field;
  readonly value: string;
  readonly set: (value: string) => void;
  /** Asks the server for what may stand there. */
  readonly ask: (value: string) => Attempt;
}

function TextField({ field: { name, description, isRequired }, value, set, ask }: TextFieldProps) {
  const [asked, setAsked] = useState<Attempt>();
  useEffect(() => () => asked?.leave(), [asked]);
  const { mayChange } = may();
  const id = `text-${name}`;
  const state = asked?.state.value;
  const offered = state?.raw === undefined ? [] : valuesIn(state.raw);
  return (
    <div class="field">
      <label for={id}>
        {name} <span class="needed">{isRequired ? 'needed' : 'may be left out'}</span>
      </label>
      {description !== '' && (
        <p class="help">
          <Said text={description} max={300} />
        </p>
      )}
      <div class="item">
        <input
          id={id}
          value={value}
          required={isRequired}
          list={`${id}-offered`}
          onInput={(event) => set(event.currentTarget.value)}
        />
        <button
          type="button"
          class="small"
          disabled={!mayChange}
          aria-label={`Suggest ${name}`}
          onClick={() => setAsked(ask(value))}
        >
          Suggest
        </button>
      </div>
      <datalist id={`${id}-offered`}>
        {offered.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <Suggestions name={name} state={state} offered={offered} set={set} />
    </div>
  );
}

function Suggestions({
  name,
  state,
  offered,
  set,
}: {
  readonly name: string;
  readonly state: AttemptState | undefined;
  readonly offered: readonly string[];
  readonly set: (value: string) => void;
}) {
  return (
    <>
      <div role="status">
        {state?.phase === 'failed' && (
          <span class="dim">
            Its server suggests nothing: <Said text={state.problem?.problem ?? ''} max={200} />
          </span>
        )}
        {state?.phase === 'result' && (
          <span class="dim">
            {offered.length === 0 ? 'It has no suggestion.' : count(offered.length, 'suggestion')}
          </span>
        )}
      </div>
      {offered.length > 0 && (
        <div class="buttons" role="group" aria-label={`Suggestions for ${name}`}>
          {offered.slice(0, maxShown).map((each) => (
            <button key={each} type="button" class="small" onClick={() => set(each)}>
              <Said text={each} max={60} />
            </button>
          ))}
        </div>
      )}
    </>
  );
}

const maxShown = 20;

function valuesIn(raw: string): readonly string[] {
  const said = JSON.parse(raw) as unknown;
  const completion = isObject(said) ? said['completion'] : undefined;
  const values = isObject(completion) ? completion['values'] : undefined;
  return Array.isArray(values) ? values.filter((each): each is string => typeof each === 'string').slice(0, 100) : [];
}
