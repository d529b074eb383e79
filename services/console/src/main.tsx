/** Entry point of the page. */
import { render } from 'preact';
import { App } from './app.tsx';
import { takeToken } from './api/ask.ts';
import 'uplot/dist/uPlot.min.css';
import './style/base.css';
import './style/parts.css';
import './style/views.css';

takeToken();
render(<App />, document.querySelector('#app') as Element);
