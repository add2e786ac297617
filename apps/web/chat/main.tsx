import { render } from 'preact';
import './style/fonts.css';
import './style/base.css';
import './style/layout.css';
import './style/thread.css';
import './style/prose.css';
import './style/panels.css';
import { App } from './app.tsx';
import { begin } from './state/place.ts';
import { loadAgents } from './state/server.ts';
import { loadSessions } from './state/session_list.ts';

begin();
void loadSessions();
loadAgents().catch(() => {});
render(<App />, document.getElementById('app')!);
