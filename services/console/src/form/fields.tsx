/** The fields of a form, made from a JSON schema. A part of the schema that a form cannot show becomes a text field for JSON. */
import { useId, useState } from 'preact/hooks';
import { Said } from '../parts/said.tsx';
import { asText, plain } from '../words.ts';
import {
  choicesOf,
  fieldsOf,
  isNullable,
  maxDepth,
  resolve,
  shapeOf,
  typeWords,
  waysOf,
  type Schema,
} from './schema.ts';
import { emptyOf, readJson, readNumber, Unread } from './values.ts';

interface FieldProps {
  readonly label: string;
  /** Path of the field, by which problems refer to it. */
  readonly path: string;
  readonly schema: Schema;
  readonly root: Schema;
  readonly isRequired: boolean;
  readonly value: unknown;
  /** Changes the value. @param value undefined to leave the field out. */
  readonly set: (value: unknown) => void;
  readonly problems: ReadonlyMap<string, string>;
  readonly depth: number;
}

export function Fields({
  schema,
  root,
  value,
  set,
  problems,
  path = '',
  depth = 0,
}: Omit<FieldProps, 'label' | 'isRequired' | 'path' | 'depth'> & { readonly path?: string; readonly depth?: number }) {
  const given = (typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}) as Readonly<
    Record<string, unknown>
  >;
  const change = (name: string, next: unknown): void => {
    const { [name]: _before, ...rest } = given;
    set(next === undefined ? rest : { ...rest, [name]: next });
  };
  return (
    <>
      {fieldsOf(schema, root).map((field) => (
        <Field
          key={field.name}
          label={titleOf(field.schema, field.name)}
          path={path === '' ? field.name : `${path}.${field.name}`}
          schema={field.schema}
          root={root}
          isRequired={field.isRequired}
          value={given[field.name]}
          set={(next) => change(field.name, next)}
          problems={problems}
          depth={depth + 1}
        />
      ))}
    </>
  );
}

function titleOf({ title }: Schema, name: string): string {
  return plain(typeof title === 'string' && title !== '' ? title : name).slice(0, 120);
}

/** The help for a field in addition to its name. */
function helpOf(schema: Schema): string {
  const { description, default: byDefault } = schema;
  return [
    typeof description === 'string' ? description : '',
    byDefault === undefined ? '' : `Left out, it is ${asText(byDefault)}.`,
  ]
    .filter((text) => text !== '')
    .join(' ');
}

function Field(props: FieldProps) {
  const { label, path, schema, root, isRequired, value, problems, depth } = props;
  const id = useId();
  const ways = waysOf(schema, root);
  const [chosen, setChosen] = useState(0);
  const isChoice = choicesOf(schema).length > 0;
  const way = isChoice ? schema : (resolve(ways[Math.min(chosen, ways.length - 1)] ?? {}, root) ?? {});
  const shape = depth > maxDepth ? 'json' : shapeOf(way);
  const problem = problems.get(path);
  const help = helpOf(schema);
  const described = [...(help === '' ? [] : [`${id}-help`]), ...(problem === undefined ? [] : [`${id}-problem`])];
  const inner = { ...props, schema: way, id, describedBy: described.join(' ') || undefined };
  const head = (
    <>
      {label}
      {isRequired && <span class="needed"> needed</span>}
    </>
  );
  const foot = (
    <>
      {!isChoice && ways.length > 1 && <Ways {...props} ways={ways} chosen={chosen} choose={setChosen} />}
      <Without {...props} isText={shape === 'string'} isChoice={isChoice} />
      <Notes id={id} problem={problem} help={help} />
    </>
  );
  if (!isChoice && (shape === 'object' || shape === 'array') && value !== null)
    return (
      <fieldset>
        <legend>{head}</legend>
        {shape === 'object' ? <Group {...inner} /> : <List {...inner} />}
        {foot}
      </fieldset>
    );
  return (
    <div class="field">
      <label for={id}>{head}</label>
      {value === null ? (
        <input id={id} value="null" disabled aria-describedby={inner.describedBy} />
      ) : isChoice ? (
        <Choice {...inner} />
      ) : (
        <One {...inner} shape={shape} />
      )}
      {foot}
    </div>
  );
}

interface WaysProps extends FieldProps {
  readonly ways: readonly Schema[];
  readonly chosen: number;
  readonly choose: (way: number) => void;
}

/** Chooses between the types that a field can have. */
function Ways({ ways, chosen, choose, set }: WaysProps) {
  return (
    <label class="ways">
      as{' '}
      <select
        value={chosen}
        onChange={(event) => {
          choose(Number(event.currentTarget.value));
          set(undefined);
        }}
      >
        {ways.map((each, index) => (
          <option key={index} value={index}>
            {titleOf(each, typeWords(each)).slice(0, 60)}
          </option>
        ))}
      </select>
    </label>
  );
}

interface WithoutProps extends FieldProps {
  readonly isText: boolean;
  readonly isChoice: boolean;
}

/** Buttons for values that cannot be typed: null, an empty text, and none. */
function Without({ schema, root, value, set, isRequired, isText, isChoice }: WithoutProps) {
  return (
    <>
      {isNullable(schema, root) && (
        <button
          type="button"
          class="small"
          aria-pressed={value === null}
          onClick={() => set(value === null ? undefined : null)}
        >
          null
        </button>
      )}
      {value === undefined && isRequired && isText && !isChoice && (
        <button type="button" class="small" onClick={() => set('')}>
          send empty text
        </button>
      )}
      {value === '' && isText && <LeaveOut sent="an empty text" set={set} />}
    </>
  );
}

/** @param sent what is sent now. */
function LeaveOut({ sent, set }: Pick<FieldProps, 'set'> & { readonly sent: string }) {
  return (
    <span class="dim">
      {sent} is sent{' '}
      <button type="button" class="small" onClick={() => set(undefined)}>
        leave it out
      </button>
    </span>
  );
}

interface NotesProps {
  readonly id: string;
  readonly problem: string | undefined;
  readonly help: string;
}

function Notes({ id, problem, help }: NotesProps) {
  return (
    <>
      {problem !== undefined && (
        <p class="field-problem" id={`${id}-problem`}>
          <span aria-hidden="true">✗</span> {problem}
        </p>
      )}
      {help !== '' && (
        <p class="help" id={`${id}-help`}>
          <Said text={help} max={400} />
        </p>
      )}
    </>
  );
}

type Inner = FieldProps & { readonly id: string; readonly describedBy: string | undefined };

function Group({ schema, root, value, set, problems, path, depth, isRequired, label }: Inner) {
  if (value === undefined && !isRequired)
    return (
      <button type="button" onClick={() => set(emptyOf(schema, root) ?? {})}>
        Add {label}
      </button>
    );
  return (
    <>
      <Fields schema={schema} root={root} value={value ?? {}} set={set} problems={problems} path={path} depth={depth} />
      {!isRequired && (
        <button type="button" class="small" onClick={() => set(undefined)}>
          Leave {label} out
        </button>
      )}
    </>
  );
}

function List({ schema, root, value, set, problems, path, depth, label }: Inner) {
  const items = resolve(schema['items'] ?? {}, root) ?? {};
  const given = (Array.isArray(value) ? value : []) as readonly unknown[];
  return (
    <>
      {given.map((item, index) => (
        <div class="item" key={index}>
          <Field
            label={`${label} ${index + 1}`}
            path={`${path}[${index + 1}]`}
            schema={items}
            root={root}
            isRequired
            value={item}
            set={(next) => set(given.with(index, next))}
            problems={problems}
            depth={depth + 1}
          />
          <button
            type="button"
            class="small"
            aria-label={`remove ${label} ${index + 1}`}
            onClick={() => set(given.length === 1 ? undefined : given.toSpliced(index, 1))}
          >
            remove
          </button>
        </div>
      ))}
      <button type="button" class="small" onClick={() => set([...given, emptyOf(items, root)])}>
        Add to {label}
      </button>
      {value === undefined && (
        <button type="button" class="small" onClick={() => set([])}>
          send an empty list
        </button>
      )}
      {Array.isArray(value) && given.length === 0 && <LeaveOut sent="an empty list" set={set} />}
    </>
  );
}

/** A list of choices. Options are identified by their index, since their values may be of any type. */
function Choice({ id, describedBy, schema, value, set }: Inner) {
  const choices = choicesOf(schema);
  const index = choices.findIndex((choice) => JSON.stringify(choice.value) === JSON.stringify(value));
  return (
    <select
      id={id}
      aria-describedby={describedBy}
      value={index === -1 ? '' : String(index)}
      onChange={(event) =>
        set(event.currentTarget.value === '' ? undefined : choices[Number(event.currentTarget.value)]?.value)
      }
    >
      <option value="">(left out)</option>
      {choices.map(({ title }, place) => (
        <option key={place} value={String(place)}>
          {plain(title).slice(0, 200)}
        </option>
      ))}
    </select>
  );
}

function One({
  id,
  describedBy,
  schema,
  shape,
  value,
  set,
  path,
  problems,
}: Inner & { readonly shape: ReturnType<typeof shapeOf> }) {
  const text = value instanceof Unread ? value.text : value === undefined ? '' : asText(value);
  const common = { id, 'aria-describedby': describedBy, 'aria-invalid': problems.has(path) };
  const hint = schema['default'] === undefined ? undefined : asText(schema['default']).slice(0, 80);
  if (shape === 'boolean') {
    return (
      <select
        {...common}
        value={text}
        onChange={(event) => set(event.currentTarget.value === '' ? undefined : event.currentTarget.value === 'true')}
      >
        <option value="">(left out)</option>
        <option value="true">yes</option>
        <option value="false">no</option>
      </select>
    );
  }
  if (shape === 'number' || shape === 'integer')
    return (
      <input
        {...common}
        inputMode={shape === 'integer' ? 'numeric' : 'decimal'}
        value={text}
        placeholder={hint}
        onInput={(event) => set(readNumber(event.currentTarget.value, shape === 'integer'))}
      />
    );
  if (shape === 'json') return <Json {...common} value={value} set={set} />;
  const { maxLength } = schema;
  const isLong = typeof maxLength === 'number' ? maxLength > 200 : text.length > 100 || text.includes('\n');
  const typed = {
    ...common,
    value: text,
    placeholder: hint,
    onInput: (event: { readonly currentTarget: { readonly value: string } }) =>
      set(event.currentTarget.value === '' ? undefined : event.currentTarget.value),
  };
  if (isLong) return <textarea {...typed} />;
  return schema['format'] === 'password' ? (
    <input {...typed} autocomplete="off" type="password" />
  ) : (
    <input {...typed} autocomplete="off" type="text" />
  );
}

/** A text field for JSON, which keeps the text as it was typed. */
function Json({
  value,
  set,
  ...common
}: {
  readonly id: string;
  readonly value: unknown;
  readonly set: (value: unknown) => void;
}) {
  const [text, setText] = useState(
    value === undefined ? '' : value instanceof Unread ? value.text : JSON.stringify(value, null, 2),
  );
  const typed = (said: string): void => {
    setText(said);
    set(readJson(said));
  };
  return (
    <textarea
      {...common}
      value={text}
      placeholder="JSON"
      spellcheck={false}
      onInput={(event) => typed(event.currentTarget.value)}
    />
  );
}
