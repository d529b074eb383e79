/** Clients of the long lane: requests of other kinds and other eras than those of the gate. */
import { ModernClient } from '../support/modern-client.ts';
import { RawClient, type Message } from '../support/raw-client.ts';
import { answerMs, askAndAnswer, broken, judge, opened, pause, type Worker } from './clients.ts';

/** Somewhat below the size above which an answer is not kept. */
const heavyCharacters = 1_000_000;
/** Pauses between two large results. */
const heavyPauses = 10;

/** The text of a large result. */
export const heavyText = (tag: string): string => `${tag} `.padEnd(heavyCharacters, 'x');

/** A client of the newest revision that reads and changes in turn, at servers of both eras. */
export const modern: Worker = async (run, name) => {
  const client = new ModernClient(run.url, undefined, run.headers);
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    const isNewer = count % 3 === 2;
    const tool = isNewer ? 'newer__echo' : count % 3 === 1 ? 'up__act' : 'up__look';
    if (tool === 'up__look') run.tally.repeatable.add(tag);
    const since = performance.now();
    try {
      const { status, last } = await client.request(
        'tools/call',
        { name: tool, arguments: isNewer ? { say: tag } : { tag } },
        {},
        AbortSignal.timeout(answerMs),
      );
      judge(run, name, { tag, since, isOfUp: !isNewer }, status, last);
    } catch (error) {
      broken(run, tag, since, error);
    }
    await pause(run);
  }
};

/** A client of the newest revision whose calls ask a question, at a server of that revision. */
export const askedAnew: Worker = (run, name) => askAndAnswer(run, name, 'newer');

/** A session of 2025-03-26 that sends two calls in one POST. */
export const batching: Worker = async (run, name) => {
  const client = await opened(run, () => RawClient.open(run.url, '2025-03-26', run.headers));
  for (let count = 0; !run.over.aborted; count += 1) {
    const tags = [`${name}-${count}-one`, `${name}-${count}-two`];
    const since = performance.now();
    try {
      const { status, messages } = await client.post(
        tags.map((tag) => ({
          jsonrpc: '2.0',
          id: tag,
          method: 'tools/call',
          params: { name: 'up__act', arguments: { tag } },
        })),
        {},
        AbortSignal.timeout(answerMs),
      );
      for (const tag of tags) {
        const answers = messages.filter(({ id }) => id === tag);
        if (answers.length > 1) run.tally.wrong.push(`${tag}: ${answers.length} answers`);
        // A POST that is refused as a whole gets one error.
        judge(run, name, { tag, since }, status, answers[0] ?? messages.find(isOfNoRequest));
      }
    } catch (error) {
      for (const tag of tags) broken(run, tag, since, error);
    }
    await pause(run);
  }
};

const isOfNoRequest = ({ id, error }: Message): boolean => typeof id !== 'string' && error !== undefined;

/** A session with large results. */
export const heavy: Worker = async (run, name) => {
  const client = await opened(run, () => RawClient.open(run.url, undefined, run.headers));
  for (let count = 0; !run.over.aborted; count += 1) {
    const tag = `${name}-${count}`;
    const since = performance.now();
    try {
      const { status, last } = await client.post(
        { jsonrpc: '2.0', id: tag, method: 'tools/call', params: { name: 'up__heavy', arguments: { tag } } },
        {},
        AbortSignal.timeout(answerMs),
      );
      judge(run, name, { tag, since, said: heavyText(tag) }, status, last);
    } catch (error) {
      broken(run, tag, since, error);
    }
    for (let pauses = 0; pauses < heavyPauses; pauses += 1) await pause(run);
  }
};
