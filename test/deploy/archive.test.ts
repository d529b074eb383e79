/**
 * From the archive of the chart and one file of values to a call. Where there is an API server of Kubernetes, the chart is installed there; elsewhere it is
 * rendered. Its pods are processes of this machine (`test/support/cluster`).
 */
import { expect, it } from 'vitest';
import { fromChart, imagesOf } from '../stranger/from-chart.ts';
import { Steps } from '../stranger/steps.ts';
import { ApiServer, findApiServer } from '../support/api-server.ts';
import { canRunPods } from '../support/cluster/node.ts';
import { omnibusProgram, root } from '../support/processes.ts';
import { findHelm } from './helm.ts';

const helm = findHelm();
if (helm === undefined || !canRunPods) console.log('Without Helm and bubblewrap, no pods of the chart are run here.');
else
  it(
    'a stranger installs the archive with one file of values, and calls their server with the first key',
    { timeout: 600_000 },
    async () => {
      await using stack = new AsyncDisposableStack();
      const programs = await findApiServer();
      const api = programs === undefined ? undefined : stack.use(await ApiServer.start(programs));
      const steps = new Steps('chart', () => undefined);
      await fromChart({ helm, api, images: imagesOf([[root, root]], omnibusProgram) }, steps);
      expect(steps.all.map(({ what }) => what)).toEqual([
        expect.stringMatching(/^helm (install|template) of the archive$/),
        'its pods are ready',
        'a call of the own server with the first key',
      ]);
    },
  );
