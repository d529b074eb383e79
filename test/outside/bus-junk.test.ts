/** Another party on NATS sends invalid messages on every subject, and stores invalid values in every bucket. */
import { expect, it } from 'vitest';
import { subjects, subjectTable } from '@omnibus/bus';
import { Outsider, samples } from '@omnibus/bus/testing';
import { startGatewayHere } from '../support/gateway-here.ts';
import { metricsOf } from '../support/metrics.ts';
import { RawClient } from '../support/raw-client.ts';
import { text, tool, Upstream } from '../support/upstream.ts';

/** Payloads that are not JSON, not objects, or valid except for a member that is missing or has another type. */
function junkFor(sample: object): string[] {
  const broken = Object.keys(sample).flatMap((member) => [
    { ...sample, [member]: undefined },
    { ...sample, [member]: 7 },
    { ...sample, [member]: { kind: 'nonsense' } },
    { ...sample, [member]: [null] },
  ]);
  return [
    '',
    'no JSON',
    'null',
    '[]',
    '{}',
    '['.repeat(20_000),
    '{"a":'.repeat(20_000),
    ...broken.map((each) => JSON.stringify(each)),
  ];
}

it('thousands of junk messages and records end no process, and no client notices', async () => {
  await using upstream = await Upstream.start({ tools: [tool('echo')], onCall: (call) => call.answer(text('echoed')) });
  await using gateway = await startGatewayHere('nats', { mcpServers: { up: { url: upstream.url } } });
  using client = await RawClient.open(gateway.url);
  await client.untilTools((names) => names.length === 1);
  await using outsider = await Outsider.connect(gateway.bus as string);
  // The subjects of workers are known from their signs of life.
  const workers = await new Promise<readonly string[]>((resolve) => {
    const known = new Set<string>();
    const stop = outsider.subscribe(subjects.presence.name.replace(/presence$/, '*'), (subject, payload) => {
      if (subject.endsWith('presence')) known.add((JSON.parse(payload) as { readonly worker: string }).worker);
      if (known.size < 2) return;
      stop();
      resolve([...known]);
    });
  });
  let sent = 0;
  for (const { subject } of subjectTable) {
    const family = subject.split('.')[0] as keyof typeof samples;
    for (const worker of workers) {
      const name = `${subjects.presence.name.replace(/presence$/, '')}${subject.replace('<worker>', worker).replace('<server>', 'up').replaceAll(/<\w+>/g, 'some')}`;
      for (const junk of [...junkFor(samples[family].request), ...junkFor(samples[family].reply ?? {})]) {
        outsider.publish(name, junk);
        sent += 1;
      }
    }
  }
  for (const [bucket, values] of await outsider.buckets()) {
    for (const key of [...values.keys(), 'up', 'up=some-worker', 'some-key'])
      if (bucket === 'omnibus-catalog' || key === 'some-key')
        for (const junk of [
          'no JSON',
          '{}',
          '{"format":1,"value":{"server":"up"}}',
          '{"format":1,"generation":"x","parts":7}',
        ])
          await outsider.put(bucket, key, junk);
  }
  await outsider.flush();
  expect(sent).toBeGreaterThan(1_000);
  // A session with an invalid record counts as missing.
  await outsider.put('omnibus-sessions', 'some-key', '{"format":1,"value":{"caller":null}}');
  for (let count = 0; count < 20; count += 1)
    expect((await client.callTool('echo')).last.result).toMatchObject({ content: [{ text: 'echoed' }] });
  using other = await RawClient.open(gateway.url);
  await other.untilTools((names) => names.length === 1);
  for (const running of new Set(gateway.processes)) {
    const values = await metricsOf(running);
    const unreadable = [...values]
      .filter(([name]) => name.startsWith('omnibus_bus_unreadable_total'))
      .reduce((sum, [, value]) => sum + value, 0);
    expect(unreadable).toBeGreaterThan(0);
    for (const part of ['handler', 'observer', 'deadline', 'rejection', 'exception'])
      expect(values.get(`omnibus_faults_total{part="${part}"}`), part).toBe(0);
    // They are reported, but not with a line for each.
    expect(running.output().split('\n').length).toBeLessThan(unreadable + 100);
    expect(
      running
        .output()
        .split('\n')
        .filter((line) => line.includes('could not be read')).length,
    ).toBeLessThan(60);
  }
});
