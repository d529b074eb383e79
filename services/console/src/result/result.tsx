/** The result of a call: formatted, its structured content, or the raw JSON. */
import { useState } from 'preact/hooks';
import { Copy } from '../parts/basics.tsx';
import { Said, Target } from '../parts/said.tsx';
import { State } from '../parts/state.tsx';
import { isSchema as isObject } from '../form/schema.ts';
import { asText, bytes } from '../words.ts';
import { Binary } from './blob.tsx';
import { rowsOf } from './rows.ts';
import { Rows } from './table.tsx';

type Way = 'shown' | 'structured' | 'raw';

/** @param raw the result as JSON text, in which numbers are exactly as the server sent them. */
export function Result({ raw }: { readonly raw: string }) {
  const value = JSON.parse(raw) as unknown;
  const result = isObject(value) ? value : {};
  const structured = result['structuredContent'];
  const [way, setWay] = useState<Way>('shown');
  const ways: readonly Way[] = structured === undefined ? ['shown', 'raw'] : ['shown', 'structured', 'raw'];
  return (
    <div class="result">
      <p>
        {result['isError'] === true ? (
          <State tone="warn" shape="!" word="the tool says that it failed" />
        ) : (
          <State tone="good" shape="✓" word="result" />
        )}{' '}
        <span class="dim">{bytes(raw.length)}</span>
      </p>
      <div class="buttons" role="group" aria-label="How the result is shown">
        {ways.map((each) => (
          <button key={each} type="button" class="small" aria-pressed={way === each} onClick={() => setWay(each)}>
            {each}
          </button>
        ))}
        <Copy text={raw} label="copy JSON" />
      </div>
      {way === 'raw' ? (
        <Said text={raw} max={20_000} isBlock />
      ) : way === 'structured' ? (
        <Json value={structured} />
      ) : (
        <Content result={result} structured={structured} />
      )}
    </div>
  );
}

/** A value as JSON, and also as a table where it is a list of flat objects. */
function Json({ value }: { readonly value: unknown }) {
  const rows = rowsOf(value);
  return (
    <>
      {rows !== undefined && <Rows rows={rows} />}
      <Said text={JSON.stringify(value, null, 2)} max={20_000} isBlock />
    </>
  );
}

function Content({
  result,
  structured,
}: {
  readonly result: Readonly<Record<string, unknown>>;
  readonly structured: unknown;
}) {
  const { content, contents, messages } = result;
  const blocks = [content, contents].flatMap((each) => (Array.isArray(each) ? (each as readonly unknown[]) : []));
  const said = Array.isArray(messages) ? (messages as readonly unknown[]) : [];
  if (blocks.length === 0 && said.length === 0)
    return structured === undefined ? <p class="dim">The answer has no content.</p> : <Json value={structured} />;
  return (
    <>
      {rowsOf(structured) !== undefined && <Rows rows={rowsOf(structured) ?? []} />}
      {blocks.slice(0, maxBlocks).map((block, index) => (
        <Block key={index} block={block} />
      ))}
      {said.slice(0, maxBlocks).map(
        (message, index) =>
          isObject(message) && (
            <div key={index}>
              <h3>{asText(message['role']).slice(0, 40)}</h3>
              {(Array.isArray(message['content'])
                ? (message['content'] as readonly unknown[])
                : [message['content']]
              ).map((block, place) => (
                <Block key={place} block={block} />
              ))}
            </div>
          ),
      )}
      {blocks.length + said.length > maxBlocks && (
        <p class="dim">{blocks.length + said.length - maxBlocks} parts more: see them raw.</p>
      )}
    </>
  );
}

const maxBlocks = 100;

/** One content block of a result. A block of an unknown type appears as JSON. */
export function Block({ block }: { readonly block: unknown }) {
  if (!isObject(block)) return <Said text={asText(block)} max={2_000} isBlock />;
  const { type, text, data, mimeType, resource, uri, name, description, blob } = block;
  if (typeof text === 'string') return <Text text={text} />;
  if (typeof blob === 'string') return <Binary data={blob} type={asText(mimeType ?? '')} />;
  if ((type === 'image' || type === 'audio') && typeof data === 'string')
    return <Binary data={data} type={asText(mimeType ?? '')} />;
  if (type === 'resource' && isObject(resource))
    return (
      <div>
        <p class="dim">
          {typeof resource['uri'] === 'string' && <Target address={resource['uri']} />}{' '}
          {typeof resource['mimeType'] === 'string' && <Said text={resource['mimeType']} max={80} />}
        </p>
        <Block block={resource} />
      </div>
    );
  if (type === 'resource_link' && typeof uri === 'string')
    return (
      <p>
        {typeof name === 'string' && <Said text={name} max={120} />} <Target address={uri} />{' '}
        {typeof description === 'string' && <Said text={description} />}
      </p>
    );
  return <Said text={JSON.stringify(block, null, 2)} max={10_000} isBlock />;
}

/** A text block. If it is JSON with a list of flat objects, a table shows that too. */
function Text({ text }: { readonly text: string }) {
  const parsed = /^\s*[[{]/.test(text) && text.length < maxParsed ? parse(text) : undefined;
  const rows = parsed === undefined ? undefined : rowsOf(parsed);
  return (
    <>
      {rows !== undefined && <Rows rows={rows} />}
      <Said text={text} max={8_000} isBlock />
    </>
  );
}

const maxParsed = 500_000;

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // It is text that begins like JSON.
  }
}
