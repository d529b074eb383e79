/** Entry point of the page. */
import { render } from 'preact';
import { App } from './app.tsx';
import { takeToken } from './api/ask.ts';
import { comeBack } from './parts/sign-in.tsx';
import 'uplot/dist/uPlot.min.css';
import './style/base.css';
import './style/parts.css';
import './style/views.css';

takeToken();
await comeBack();
render(<App />, document.querySelector('#app') as Element);
